import { expect, it } from 'vitest'
import { setup } from '../harness/setup.js'
import { CliProcess, cli, refused } from './cli-process.js'
import { type Files, project, taskModule } from './project.js'

const good = taskModule('good', 'return 1')
const config = (settings: string) =>
  `import { defineConfig } from 'fencepost'\nexport default defineConfig(${settings})`

interface Refusal {
  readonly what: string
  readonly files: Files
  readonly args?: readonly string[]
  readonly code: string
  readonly says: string
  readonly hint: string
}

const refusals: readonly Refusal[] = [
  {
    what: 'an empty project',
    files: {},
    code: 'FP_TASKS_MISSING',
    says: 'has no fencepost.config.ts and no tasks/',
    hint: 'Make a file tasks/<name>.ts',
  },
  {
    what: 'a path that does not exist',
    files: { 'tasks/good.ts': good },
    args: ['jobs'],
    code: 'FP_TASKS_MISSING',
    says: 'jobs does not exist',
    hint: 'as seen from the working directory',
  },
  {
    what: 'an empty directory',
    files: { 'tasks/readme.md': '' },
    code: 'FP_TASKS_MISSING',
    says: 'there is no module in tasks',
    hint: 'Put files that export tasks there',
  },
  {
    what: 'a file without a task',
    files: { 'tasks/good.ts': good, 'tasks/lib/mail.ts': 'export const send = () => 1' },
    code: 'FP_TASKS_MISSING',
    says: 'tasks/lib/mail.ts exports no task',
    hint: 'name it _mail.ts or move it',
  },
  {
    what: 'two tasks of one name',
    files: { 'tasks/a.ts': good, 'tasks/b.ts': good },
    code: 'FP_TASK_DUPLICATE',
    says: '"good", in tasks/a.ts and in tasks/b.ts',
    hint: 'give each task its own name',
  },
  {
    what: 'a syntax error',
    files: { 'tasks/a.ts': 'export const a: = 1' },
    code: 'FP_MODULE_FAILED',
    says: 'tasks/a.ts:1:16: ERROR: Unexpected "="',
    hint: 'Fix what the message names',
  },
  {
    what: 'an import that leads nowhere',
    files: { 'tasks/a.ts': `import './nowhere.js'` },
    code: 'FP_MODULE_FAILED',
    says: "Cannot find module 'tasks/nowhere.js' imported from tasks/a.ts",
    hint: 'install the package',
  },
  {
    what: 'a package that is not installed',
    files: { 'tasks/a.ts': `import 'nodemailer'` },
    code: 'FP_MODULE_FAILED',
    says: "Cannot find package 'nodemailer' imported from tasks/a.ts",
    hint: 'install the package',
  },
  {
    what: 'a module that throws',
    files: { 'tasks/a.ts': `\n\nthrow new TypeError('MAIL_URL is not set')` },
    code: 'FP_MODULE_FAILED',
    says: 'tasks/a.ts: MAIL_URL is not set (at 3:7)',
    hint: 'Fix what the message names',
  },
  {
    what: 'a task with a bad option',
    files: { 'tasks/a.ts': taskModule('a', '', { options: 'timeot: 3,' }) },
    code: 'FP_MODULE_FAILED',
    says: 'tasks/a.ts: An option is malformed or out of range: task a has no option "timeot"',
    hint: 'Did you mean timeout?',
  },
  {
    what: 'a misspelt setting',
    files: { 'fencepost.config.ts': config(`{ tasks: './tasks', conurrency: 3 } as object`) },
    code: 'FP_MODULE_FAILED',
    says: 'defineConfig() has no option "conurrency"',
    hint: 'Did you mean concurrency?',
  },
  {
    what: 'a misspelt setting without defineConfig',
    files: { 'fencepost.config.mjs': `export default { taks: './tasks' }` },
    code: 'FP_OPTION_INVALID',
    says: 'fencepost.config.mjs has no option "taks"',
    hint: 'Did you mean tasks?',
  },
  {
    what: 'a config without settings',
    files: { 'fencepost.config.ts': good },
    code: 'FP_OPTION_INVALID',
    says: 'fencepost.config.ts has no settings as its default export',
    hint: 'export default defineConfig({',
  },
  {
    what: 'a config that lists something else',
    files: { 'fencepost.config.ts': config(`{ tasks: ['./tasks' as never] }`) },
    code: 'FP_OPTION_INVALID',
    says: 'tasks of fencepost.config.ts has at place 1 something that is no task',
    hint: "write tasks: './tasks'",
  },
  {
    what: 'a queue of no task',
    files: { 'tasks/a.ts': good },
    args: ['--queue', 'defualt'],
    code: 'FP_QUEUE_UNKNOWN',
    says: '--queue defualt: none of the tasks runs in it',
    hint: 'Did you mean default?',
  },
  {
    what: 'a path taken for a port',
    files: { 'tasks/a.ts': good },
    args: ['--metrics', 'tasks'],
    code: 'FP_OPTION_INVALID',
    says: '--metrics takes a port or host:port, not "tasks"',
    hint: 'put --metrics after the paths',
  },
]

it.each(refusals)('refuses $what and says what to do next', async ({ files, args = [], code, says, hint }) => {
  const { directory } = await project(files)
  const result = await cli(['worker', ...args], { cwd: directory, url: 'postgres://ada@127.0.0.1:1/none' })
  expect(result).toEqual(refused(code, says))
  expect(result.stderr).toContain(hint)
})

it('names the database that cannot be reached', async () => {
  const { directory } = await project({ 'tasks/a.ts': good })
  const result = await cli(['worker'], { cwd: directory, url: 'postgres://ada:secret@127.0.0.1:1/none' })
  expect(result).toEqual(refused('FP_DATABASE_UNREACHABLE', 'ECONNREFUSED 127.0.0.1:1'))
  expect(result.stderr).not.toContain('secret')
})

it('leaves installing the schema to `fencepost migrate`, unless asked', async () => {
  const { url } = await setup()
  const { directory } = await project({ 'tasks/a.ts': good })
  const args = ['worker', '--schema', 'elsewhere']
  expect(await cli(args, { cwd: directory, url })).toEqual(refused('FP_SCHEMA_MISSING', 'elsewhere'))

  const worker = new CliProcess([...args, '--migrate'], { cwd: directory, url })
  await worker.sees(/"ready: 1 task \(good\).*schema elsewhere/)
  worker.signal('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})
