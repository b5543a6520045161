import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { setup } from '../harness/setup.js'

const guides = join(packageRoot, 'docs', 'guides')
const programs = readdirSync(guides)
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) => {
    const text = readFileSync(join(guides, file), 'utf8')
    return [...text.matchAll(/^```ts file=(\S+)\n(.*?)^```$/gms)].map(([, program, code]) => ({
      file,
      program: program as string,
      code,
    }))
  })

it.each(programs)('docs/guides/$file shows $program as it is', ({ program, code }) => {
  expect(code).toBe(readFileSync(join(packageRoot, program), 'utf8'))
})

/** What the guides show of what a program writes. */
const outputs = new Map(
  readdirSync(guides).flatMap((file) => {
    const text = readFileSync(join(guides, file), 'utf8')
    const blocks = text.matchAll(/^```console\n\$ npx tsx (\S+)\n(.+?)^```$/gms)
    return [...blocks].map(([, program, output]) => [program, output] as [string, string])
  }),
)
const withoutIds = (text: string) => text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')

/** Tasks and settings are no programs; test/cli/running-workers.test.ts lets a worker load them. */
const runnable = programs.filter(({ program }) => !/\/tasks\/|\.config\.ts$/.test(program))

it.each(runnable)('$program runs', async ({ program }) => {
  const { url } = await setup()
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', program], {
    cwd: packageRoot,
    env: { ...process.env, DATABASE_URL: url },
  })
  const { stdout } = await run
  expect(stdout).toMatch(/^(enqueued|[0-9a-f-]{36} is ready)/m)
  const said = outputs.get(program)
  if (said !== undefined) expect(withoutIds(stdout)).toBe(withoutIds(said))
})
