import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { setup } from '../harness/setup.js'

const guides = readdirSync(join(packageRoot, 'docs', 'guides')).filter((file) => file.endsWith('.md'))
const pages = ['README.md', ...guides.map((file) => `docs/guides/${file}`)].map((page) => ({
  page,
  text: readFileSync(join(packageRoot, page), 'utf8'),
}))

const shown = pages.flatMap(({ page, text }) =>
  [...text.matchAll(/^```(?:ts|yaml|sh|python) file=(\S+)\n(.*?)^```$/gms)].map(([, file, content]) => ({
    page,
    file: file as string,
    content,
  })),
)

it.each(shown)('$page shows $file as it is', ({ file, content }) => {
  expect(content).toBe(readFileSync(join(packageRoot, file), 'utf8'))
})

/** What the pages show of what a program writes. */
const outputs = pages.flatMap(({ text }) =>
  [...text.matchAll(/^```console\n\$ npx tsx (examples\/\S+)\n(.+?)^```$/gms)].map(
    ([, program, output]) => [program, output] as [string, string],
  ),
)
const withoutIds = (text: string) => text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')

/** Tasks and settings are no programs; test/cli/running-workers.test.ts lets a worker load them. */
const isProgram = (file: string) => file.endsWith('.ts') && !/\/tasks\/|\.config\.ts$/.test(file)
const named = pages.flatMap(({ text }) =>
  [...text.matchAll(/^(?:\$ )?npx tsx (examples\/\S+)/gm)].map(([, file]) => file as string),
)
const programs = [...new Set([...shown.map(({ file }) => file).filter(isProgram), ...named])]

const run = (program: string, url: string) =>
  promisify(execFile)(process.execPath, ['--import', 'tsx', program], {
    cwd: packageRoot,
    env: { ...process.env, DATABASE_URL: url },
  })

it.each(programs)('%s runs', async (program) => {
  const { url } = await setup()
  const { stdout } = await run(program, url)
  expect(stdout).toMatch(/^(enqueued|started|rehearsed|[0-9a-f-]{36} is ready)/m)
  for (const [, output] of outputs.filter(([file]) => file === program)) {
    expect(withoutIds(stdout)).toBe(withoutIds(output))
  }
})

it('every example that is a program is shown, or its output is', () => {
  const files = readdirSync(join(packageRoot, 'examples'), { recursive: true, encoding: 'utf8' })
  const main = files.map((file) => `examples/${file.replaceAll('\\', '/')}`).filter(isProgram)
  const isMain = (file: string) => /^await .*close\(\)$/m.test(readFileSync(join(packageRoot, file), 'utf8'))
  expect(main.filter((file) => isMain(file) && !programs.includes(file))).toEqual([])
})

it('the first workflow is the same in YAML and in TypeScript', async () => {
  const { url, sql } = await setup()
  for (const program of ['fan-out', 'builder']) await run(`examples/workflows/${program}.ts`, url)
  expect(await sql('select name, version from fencepost.workflow')).toEqual([{ name: 'thumbnails', version: 1 }])
})
