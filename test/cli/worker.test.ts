import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { task } from '../../src/index.js'
import { open } from '../client/setup.js'
import { setup } from '../harness/setup.js'
import { workflowOf } from '../harness/workflows.js'
import { CliProcess } from './cli-process.js'
import { project, taskModule } from './project.js'

const until = (file: string) => `while (!existsSync(${file})) await pause(10)`
const imports = `import { existsSync } from 'node:fs'\nimport { setTimeout as pause } from 'node:timers/promises'`

/** Ends when its input's file exists. */
const gated = taskModule('gated', `${until('input.file')}; return 'open'`, { imports })
/** Ends when it is told to. */
const endless = taskModule('endless', `await new Promise((_, no) => job.signal.addEventListener('abort', no))`)
const quick = taskModule('quick', `return 'done'`)

it.each(['module', 'commonjs'] as const)('runs TypeScript tasks in a project of type %s', async (type) => {
  const { url, add, see } = await setup()
  const { directory } = await project(
    {
      'tasks/mail/send.ts': taskModule('send', `return greeting(input.to)`, {
        imports: `import { greeting } from '../../lib/greeting'`,
      }),
      'tasks/refuse.ts': taskModule('refuse', `throw new NonRetryable('never')`, {
        imports: `import { NonRetryable } from 'fencepost'`,
      }),
      'tasks/_shared.ts': 'export const nothing: number = 1',
      'tasks/send.test.ts': `throw new Error('a test was loaded')`,
      'lib/greeting.ts': 'export const greeting = (to: string): string => `hello ${to}`',
    },
    { type },
  )
  const worker = new CliProcess(['worker'], { url, cwd: directory })
  const sent = await add({ task: 'send', payloadText: '{"to":"ada"}' })
  const refused = await add({ task: 'refuse' })

  await worker.sees(/"ready: 2 tasks \(send, refuse\)/, /"event":"finished"/, /"event":"failed"/)
  worker.signal('SIGTERM')

  expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })
  expect(await see(sent)).toMatchObject({ outcome: 'succeeded', tries: 1 })
  expect(await see(refused)).toMatchObject({ outcome: 'failed', tries: 1 })
})

it('lets running jobs end on the first signal, gives back the rest at no charge, and says so', async () => {
  const { url, add, see } = await setup()
  const { directory } = await project({ 'tasks/gated.ts': gated, 'tasks/endless.ts': endless })
  const gate = join(directory, 'gate')
  const ends = await add({ task: 'gated', payloadText: JSON.stringify({ file: gate }) })
  const stays = await add({ task: 'endless' })
  const worker = new CliProcess(['worker', '--log-level', 'debug', '--grace', '3s'], { url, cwd: directory })

  await worker.sees(/"claimed".*"task":"gated"/, /"claimed".*"task":"endless"/)
  worker.signal('SIGTERM')
  await worker.sees(/"stopping: running jobs have 3s to end/)
  await writeFile(gate, '')
  const { code, stdout, stderr } = await worker.ended

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('1 finished, 1 given back at no charge')
  expect(await see(ends)).toMatchObject({ outcome: 'succeeded' })
  expect(await see(stays)).toMatchObject({ place: 'ready', failures: 0, losses: 0, releases: 1 })
})

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('ends at once on the second %s', async (signal, exit) => {
  const { url, add, see } = await setup()
  const { directory } = await project({ 'tasks/endless.ts': endless })
  const id = await add({ task: 'endless' })
  const worker = new CliProcess(['worker', '--log-level', 'debug'], { url, cwd: directory })

  await worker.sees(/"claimed"/)
  worker.signal(signal)
  await worker.sees(/"stopping/)
  const again = setInterval(() => worker.signal(signal), 100) // two within 300 ms count as one
  const { code } = await worker.ended.finally(() => clearInterval(again))

  expect(code).toBe(exit)
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('follows its config file, and the flags where they say otherwise', async () => {
  const { url } = await setup()
  const { directory } = await project({
    'fencepost.config.ts': `
      import { defineConfig } from 'fencepost'
      export default defineConfig({
        tasks: './jobs', grace: '1s', database: '${url}', metrics: { port: 0 }, concurrency: 3,
      })`,
    'jobs/quick.ts': quick,
  })
  const worker = new CliProcess(['worker', '--grace', '2s'], { cwd: directory })

  await worker.sees(/"ready: 1 task \(quick\) on PostgreSQL .*"/)
  const [, metrics = ''] = /"metrics":"([^"]+)"/.exec(worker.stdout) ?? []
  expect(await (await fetch(metrics)).text()).toContain('fencepost_jobs{queue="default",place="ready"} 0')
  worker.signal('SIGINT')

  const { code, stdout } = await worker.ended
  expect(code).toBe(0)
  expect(stdout).toContain('running jobs have 2s to end')
})

it('runs only the tasks of the queues that are named, and the files that are named', async () => {
  const { url, add, see } = await setup()
  const { directory } = await project({
    'a.ts': taskModule('a', 'return 1', { options: `queue: 'mail',` }),
    'more/b.ts': taskModule('b', 'return 2', { options: `queue: 'slow',` }),
    'tasks/c.ts': quick,
  })
  const mail = await add({ task: 'a', queue: 'mail' })
  const slow = await add({ task: 'b', queue: 'slow' })
  const worker = new CliProcess(['worker', 'a.ts', 'more', '--queue', 'mail'], { url, cwd: directory })

  await worker.sees(/"ready: 1 task \(a\)/, /"event":"finished"/)
  worker.signal('SIGTERM')

  expect((await worker.ended).code).toBe(0)
  expect(await see(mail)).toMatchObject({ outcome: 'succeeded' })
  expect(await see(slow)).toMatchObject({ place: 'ready' })
})

it('gives its jobs back when an error in a task’s code is not caught, and ends with it', async () => {
  const { url, add, see } = await setup()
  const { directory } = await project({
    'tasks/endless.ts': endless,
    'tasks/stray.ts': taskModule('stray', `void Promise.reject(new Error('nobody waits for me')); return 'done'`),
  })
  const id = await add({ task: 'endless' })
  const worker = new CliProcess(['worker', '--log-level', 'debug', '--grace', '100ms'], { url, cwd: directory })

  await worker.sees(/"claimed".*"task":"endless"/)
  await add({ task: 'stray' })
  const { code, stdout, stderr } = await worker.ended

  expect(code).toBe(1)
  expect(stdout).toMatch(/"level":"error".*nobody waits for me.*stray\.ts/)
  expect(stderr).toMatch(/^fencepost: .*nobody waits for me \(FP_UNCAUGHT\)\n.+\n$/)
  expect(await see(id)).toMatchObject({ place: 'ready', losses: 0, releases: 1 })
})

it('writes no secret of a job whose error is not caught', async () => {
  const { url } = await setup()
  const body = 'setImmediate(() => { throw new Error(`stray ${input}`) }); await new Promise(() => {})'
  const { directory } = await project({ 'tasks/stray.ts': taskModule('stray', body) })
  const fp = await open({ database: url, migrate: false })
  const stray = task('stray', { input: z.any(), run: () => 1 })
  const text = `
name: w
parameters: { token: { type: string, secret: true } }
tasks: [{ name: one, action: stray, input: "{{ parameters.token }}" }]
`
  await fp.workflows.start(workflowOf(text, [stray]), { token: 'hunter2' })
  const worker = new CliProcess(['worker', '--grace', '100ms'], { url, cwd: directory })
  const { code, stdout, stderr } = await worker.ended

  expect(code).toBe(1)
  expect(stdout).toMatch(/"level":"error".*stray •••/)
  expect(stderr).toMatch(/stray ••• \(FP_UNCAUGHT\)/)
  expect(stdout + stderr).not.toMatch(/hunter2/)
})

it('ends although a module of the tasks keeps a timer', async () => {
  const { url } = await setup()
  const { directory } = await project({ 'tasks/quick.ts': `${quick}\nsetInterval(() => {}, 1_000)` })
  const worker = new CliProcess(['worker'], { url, cwd: directory })
  await worker.sees(/"ready/)
  worker.signal('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})

it('stops when nobody reads it any more', async () => {
  const { url, add } = await setup()
  const { directory } = await project({ 'tasks/quick.ts': quick })
  const worker = new CliProcess(['worker'], { url, cwd: directory })
  await worker.sees(/"ready/)
  worker.hangUp()
  await add({ task: 'quick' }) // the line about it finds no reader
  expect((await worker.ended).code).toBe(0)
})

const inTerminal = (node: string, args: readonly string[]): [string, ...string[]] => {
  const command = [node, ...args].map((word) => `'${word}'`).join(' ')
  return ['script', '-qefc', `exec ${command}`, '/dev/null']
}

const onLinux = process.platform === 'linux'

it.skipIf(!onLinux)(`writes lines for people on a terminal${onLinux ? '' : ': needs Linux’s script'}`, async () => {
  const { url, add } = await setup()
  const { directory } = await project({
    'tasks/quick.ts': quick,
    'tasks/broken.ts': taskModule('broken', `throw new TypeError('no such\\u001b[2J thing')`),
  })
  const worker = new CliProcess(['worker'], {
    url,
    cwd: directory,
    through: inTerminal,
    env: { SHELL: '/bin/sh', NO_COLOR: '1' },
  })
  const id = await add({ task: 'quick' })
  await add({ task: 'broken' })

  await worker.sees(
    new RegExp(`^\\d\\d:\\d\\d:\\d\\d\\.\\d{3} info  quick finished \\(attempt 1, \\S+\\) ${id}\\r$`, 'm'),
    /^\S+ warn {2}broken failed, to be tried again \(attempt 1, .*\r\n {2}TypeError: no such\\u001b\[2J thing\r\n {2} +at /m,
  )
  worker.type('\u0003')
  const { code, stdout } = await worker.ended
  expect(code).toBe(0)
  expect(stdout).toMatch(/worker stopped: 0 finished, 0 given back at no charge\r\n$/)
})
