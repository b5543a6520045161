import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readWorkflowFile, readWorkflowText } from '../../src/workflow/workflow-file.js'
import { releaseYaml } from './release.js'

const directory = mkdtempSync(join(tmpdir(), 'fencepost-workflow-'))
afterAll(() => rmSync(directory, { recursive: true }))

function file(name: string, content: string | Uint8Array): string {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

describe('a workflow file', () => {
  it('becomes a definition', async () => {
    expect(await readWorkflowFile(file('release.yaml', releaseYaml))).toMatchObject({ definition: { name: 'release' } })
  })

  it('may be JSON', () => {
    const json = JSON.stringify({ name: 'w', tasks: [{ name: 'a', action: 'core.noop' }] })
    expect(readWorkflowText(json, 'w.json')).toMatchObject({ definition: { name: 'w' } })
  })

  it('may end its lines as Windows does', () => {
    expect(readWorkflowText(releaseYaml.replaceAll('\n', '\r\n'), 'w')).toEqual(readWorkflowText(releaseYaml, 'w'))
  })

  it('is called as it was named where it is wrong', async () => {
    const path = file('broken.yaml', 'name: w\ntask: []\n')
    expect(await readWorkflowFile(path)).toEqual({
      problems: [
        {
          path: 'task',
          line: 2,
          column: 1,
          length: 4,
          message: 'unknown key "task" in a workflow',
          hint: 'Did you mean tasks?',
        },
      ],
      text: `${path}:2:1  unknown key "task" in a workflow\n  2 | task: []\n    | ^^^^\n  Did you mean tasks?`,
    })
  })

  it('is counted without a mark at its start', async () => {
    const result = await readWorkflowFile(file('marked.yaml', `\uFEFFnam: w\n`))
    expect(result).toMatchObject({ problems: [{ line: 1, column: 1, length: 3 }, {}] })
  })

  it.each<[string, () => string, RegExp]>([
    ['is not there', () => join(directory, 'missing.yaml'), /missing\.yaml: there is no such file$/],
    ['is a directory', () => directory, /: that is a directory$/],
    [
      'is not text',
      () => file('latin1.yaml', Buffer.from('name: é', 'latin1')),
      /latin1\.yaml: it is not text in UTF-8$/,
    ],
  ])('that %s is an error', async (_, path, expected) => {
    await expect(readWorkflowFile(path())).rejects.toThrow(
      expect.objectContaining({
        code: 'FP_MODULE_FAILED',
        message: expect.stringMatching(expected) as string,
      }) as Error,
    )
  })
})
