import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { cli, cliJson } from './cli-process.js'

it('uses the embedded server of the directory when no database is named, and keeps its data', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'fencepost-cli-'))
  await chmod(cwd, 0o755)
  onTestFinished(() => rm(cwd, { recursive: true, force: true, maxRetries: 5 }))

  const { id } = await cliJson<{ id: string }>(['enqueue', 'send-mail', '{"to":"ada"}', '--new-task'], { cwd })

  expect(await cliJson(['jobs'], { cwd })).toMatchObject([{ id, task: 'send-mail', place: 'ready' }])
  expect(await cli(['migrate', '--status'], { cwd })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('up to date') as string,
  })
})
