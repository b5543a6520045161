import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { task } from '../../src/index.js'
import { actionCard, putActions } from '../../src/store/runs.js'
import { cli, CliProcess, cliJson, refused } from './cli-process.js'
import { setupWorkflows } from './workflow-setup.js'

const release = `
name: release
parameters: { version: string, regions: { type: array, default: [eu, bad, us] }, token: { type: string, secret: true } }
vars: { built: null }
tasks:
  - name: build
    action: echo
    input: { version: "{{ parameters.version }}", token: "{{ parameters.token }}" }
    next: [{ publish: { built: "{{ result() }}" }, do: [ask, ready] }]
  - name: ask
    wait_for:
      approval:
        title: "Release {{ parameters.version }}?"
        form: { ok: { type: boolean, required: true, description: Is it good }, count: integer }
        expires: 1d
    next: [{ do: both }]
  - { name: ready, wait_for: { signal: ready to go }, timeout: 2h, next: [{ do: both }] }
  - name: both
    join: all
    action: fail
    with_items: "{{ parameters.regions }}"
    input: { message: "no {{ item }} with {{ parameters.token }}" }
`

it('shows what a run waits for, and the commands to type are those that work', async () => {
  const { workflow, options, start, until } = await setupWorkflows({ 'release.yaml': release })
  const id = await start('release.yaml', '--param', 'version=1.2', '--param', 'token=hunter2/x')
  await until(id, ({ taskRuns }) => taskRuns.filter(({ state }) => state === 'waiting').length === 2)

  const { code, stdout } = await workflow(['show', id])

  expect(code).toBe(0)
  expect(stdout).toContain(`run        ${id}\nworkflow   release, version 1\nstate      running for `)
  expect(stdout).toContain('"token":"•••"')
  expect(stdout).toContain('vars       {"built":{"token":"•••","version":"1.2"}}')
  expect(stdout).toMatch(
    /✔ +build +succeeded +\S+\n├─╮\n◆ │ +ask +waiting +\S+\n│ ◆ +ready +waiting +\S+\n├─╯\n○ +both\n/,
  )
  expect(stdout).toMatch(
    /^ask +asks: Release 1\.2\?, expires in 23h 59m, at \S+ \S+Z\n +ok: boolean, required: Is it good\n +count: integer\n/m,
  )
  expect(stdout).toMatch(/^ready +waits for the signal ready to go, times out in 1h 59m/m)
  expect(stdout).toMatch(
    /^ {3}TASK +VIA +BEGAN +TOOK +0 to \S+\n✔ {2}build +\+\S+ +\S+ +█+\n◆ {2}(ask|ready) +build +\+\S+ +\S+… +░+\n/m,
  )

  const commands = [...stdout.matchAll(/^ +fencepost (workflow (?:answer|signal) .*)$/gm)].map(([, command]) => command)
  expect(commands).toHaveLength(2)
  for (const command of commands) {
    const through = (node: string, [bin]: readonly string[]): [string, ...string[]] => [
      'sh',
      '-c',
      `${node} ${bin} ${command}`,
    ]
    expect(await cli([], { ...options, through })).toMatchObject({ code: 0, stderr: '' })
  }
  await until(id)
})

it('shows what went wrong with which item, and hides the values of secrets everywhere', async () => {
  const { workflow, workflowJson, options, start, until, fp } = await setupWorkflows({ 'release.yaml': release })
  const id = await start('release.yaml', '--param', 'version=1.2', '--param', 'token=hunter2/x')
  await fp.workflows.answer(id, 'ask', { ok: true })
  await fp.workflows.signal(id, 'ready to go')
  await until(id)

  const { stdout } = await workflow(['show', id])
  const shown = await workflowJson<{ failedItems: { jobId: string; item: number }[] }>(['show', id])

  expect(stdout).toMatch(/^state +failed after /m)
  expect(stdout).toMatch(/^output +null$/m)
  expect(stdout).toMatch(
    /^error +task both failed: 3 of 3 items did not succeed; the first: item \d: no \w+ with ••• \(FP_ITEMS_FAILED\)$/m,
  )
  expect(stdout).toMatch(/✘ +both +failed +\S+ +3\/3, 3 failed {2}3 of 3/)
  const [first] = shown.failedItems
  expect(stdout).toMatch(
    new RegExp(
      `^FAILED JOB +TASK +ITEM +OUTCOME +WHY\n${first?.jobId} +both +${first?.item} +failed +no \\w+ with •••$`,
      'm',
    ),
  )
  expect(JSON.stringify(shown)).not.toMatch(/hunter2/)
  expect(stdout).not.toMatch(/hunter2/)

  const jobId = first?.jobId as string
  const job = await cli(['jobs', 'show', jobId], options)
  expect(job.stdout).toMatch(new RegExp(`^run +${id}, item ${first?.item} of both$`, 'm'))
  expect(job.stdout).toMatch(/^payload +\{"message":"no \w+ with •••"\}$/m)
  expect(job.stdout).toMatch(/^error +no \w+ with •••$/m)
  const json = await cliJson<object>(['jobs', 'show', jobId], options)
  expect(json).toMatchObject({ itemOf: { runId: id, task: 'both', ordinal: 1, item: first?.item } })
  expect(job.stdout + JSON.stringify(json)).not.toMatch(/hunter2/)
  expect((await cli(['jobs', 'retry', jobId], options)).stdout).toBe(
    `${jobId} not retried: it is an item of a run, which is to be rerun: fencepost workflow rerun ${id} --from both\n`,
  )
})

const outer = `
name: outer
parameters: { token: { type: string, secret: true } }
tasks:
  - name: each
    action: workflow.inner
    with_items: [1, 2, 3]
    concurrency: 2
    input: { n: "{{ item }}", text: "{{ parameters.token }}" }
`
const inner = `
name: inner
parameters: { n: integer, text: string }
tasks: [{ name: wait, action: hold, input: "{{ parameters.text }}" }]
`

it('shows sub-runs, and in them no secret of the run that they are items of', async () => {
  const {
    workflow,
    start,
    until,
    held,
    release: letGo,
  } = await setupWorkflows({ 'outer.yaml': outer, 'inner.yaml': inner })
  await workflow(['deploy', 'inner.yaml'])
  const id = await start('outer.yaml', '--param', 'token=hunter2')
  await held()
  await until(id, ({ taskRuns }) => taskRuns[0]?.dispatched === 2)

  const { stdout } = await workflow(['show', id])
  const [, subRun = ''] = /^each +0\/3; item \d: run (\S+) is running$/m.exec(stdout) ?? []
  expect(stdout).toContain(`fencepost workflow show ${subRun}\n`)
  expect(stdout).toMatch(
    new RegExp(`^SUB-RUN +TASK +ITEM +WORKFLOW +STATE\n(\\S+ +each +\\d +inner +running\n){2}$`, 'm'),
  )
  expect(stdout).toContain(subRun)

  const sub = (await workflow(['show', subRun])).stdout
  expect(sub).toContain(`item of    run ${id}: fencepost workflow show ${id}\n`)
  expect(sub).toContain('"text":"•••"')
  expect(sub).not.toContain('hunter2')
  expect(sub).toMatch(/^wait +runs for \S+ on \S+\n +fencepost jobs show [0-9a-f-]{36}$/m)
  const done = until(id)
  const again = setInterval(letGo, 50)
  await done.finally(() => clearInterval(again))
})

it('says that nothing happens without a worker, and why a job does not run', async () => {
  const { workflow, db, fp, tasks, start, until } = await setupWorkflows(
    {
      'a.yaml': 'name: a\ntasks: [{ name: one, action: core.noop, next: [{ do: two }] }, { name: two, action: echo }]',
    },
    { withWorker: false },
  )
  await putActions(db, tasks.map(actionCard))
  const other = await fp.work([task('other', { input: z.any(), run: () => 1 })], { poll: '20ms' })
  const id = await start('a.yaml')
  await until(id, ({ taskRuns }) => taskRuns.length === 2)
  expect((await workflow(['show', id])).stdout).toMatch(
    /^two +no live worker serves task echo in queue default: fencepost workers$/m,
  )
  await other.stop()
  await fp.workflows.pause(id)
  expect((await workflow(['show', id])).stdout).toContain(`it is paused: fencepost workflow resume ${id}\n`)
  await fp.workflows.resume(id)
  expect((await workflow(['show', id])).stdout).toContain(
    'no live worker is there, and one has to advance it: fencepost worker\n',
  )
})

it('tells the activations of a cycle apart', async () => {
  const cycle = `
name: cycle
vars: { n: 0 }
tasks:
  - { name: begin, action: core.noop, next: [{ do: again }] }
  - name: again
    action: echo
    next: [{ when: "{{ vars.n < 2 }}", publish: { n: "{{ vars.n + 1 }}" }, do: rest }]
  - { name: rest, action: core.noop, next: [{ do: again }] }
`
  const { workflow, start, until } = await setupWorkflows({ 'cycle.yaml': cycle })
  const id = await start('cycle.yaml')
  await until(id)
  const { stdout } = await workflow(['show', id])
  expect(stdout).toMatch(/✔ +again +succeeded +\S+ +#3\n✔ +rest +succeeded +\S+ +#2 +↺ again\n/)
  expect(stdout).toMatch(/✔ +again#3 +rest#2 +\+\S+/)
})

it('refuses what is no run, and says what it is', async () => {
  const { workflow, add, options, start } = await setupWorkflows({
    'a.yaml': 'name: a\ntasks: [{ name: one, wait_for: { signal: go } }]',
  })
  const id = randomUUID()
  for (const args of [
    ['show', id],
    ['watch', id],
    ['signal', id, 'x'],
  ]) {
    expect(await workflow(args)).toEqual(refused('FP_RUN_UNKNOWN', id))
  }
  const malformed = await workflow(['show', 'abc'])
  expect(malformed).toEqual(refused('FP_ID_INVALID', '"abc"'))
  expect(malformed.stderr).toContain('fencepost workflow runs')
  const job = await add()
  expect((await workflow(['show', job])).stderr).toContain(`It is the id of a job: fencepost jobs show ${job}`)
  const run = await start('a.yaml')
  expect((await cli(['jobs', 'show', run], options)).stderr).toContain(
    `It is the id of a run: fencepost workflow show ${run}`,
  )
})

it('follows a run to its end, line by line, and tells by the exit code how it ended', async () => {
  const {
    options,
    start,
    held,
    release: letGo,
  } = await setupWorkflows({
    'a.yaml':
      'name: a\ntasks: [{ name: one, action: hold, next: [{ do: two }] }, { name: two, action: fail, with_items: [1, 2] }]',
  })
  const id = await start('a.yaml')
  await held()
  const watch = new CliProcess(['workflow', 'watch', id], { ...options, input: '' })
  await watch.sees(/ one +began\n/)
  letGo()
  const { code, stdout, stderr } = await watch.ended
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/^\d\d:\S+ {2}run +running\n\S+ +one +began\n/)
  expect(stdout).toMatch(/ one +succeeded +\S+\n\S+ +two +began +via one\n/)
  expect(stdout).toMatch(
    / two +failed +\S+ +2\/2, 2 failed {2}2 of 2 items did not succeed; the first: item \d: no luck\n\S+ +run +failed +task two failed/,
  )
})

it('writes one object per change with --json, and leaves the run alone on Ctrl-C', async () => {
  const {
    options,
    start,
    held,
    fp,
    release: letGo,
  } = await setupWorkflows({
    'a.yaml': 'name: a\ntasks: [{ name: one, action: hold }]',
  })
  const id = await start('a.yaml')
  await held()
  const watch = new CliProcess(['workflow', 'watch', id, '--json'], { ...options, input: '' })
  await watch.sees(/"task":"one"/)
  watch.signal('SIGINT')
  const { code, stdout } = await watch.ended
  expect(code).toBe(130)
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toMatchObject([
    { task: null, what: 'running' },
    { task: 'one', ordinal: 1, what: 'began' },
  ])
  expect(await fp.workflows.run(id)).toMatchObject({ state: 'running' })
  letGo()
})

const inTerminal = (node: string, args: readonly string[]): [string, ...string[]] => {
  const command = ['stty rows 30 cols 100; exec', node, ...args].map((word, i) => (i === 0 ? word : `'${word}'`))
  return ['script', '-qefc', command.join(' '), '/dev/null']
}

it.skipIf(process.platform !== 'linux')(
  'draws a live screen on a terminal, and shows the run when it has ended',
  async () => {
    const {
      options,
      start,
      held,
      release: letGo,
    } = await setupWorkflows({ 'a.yaml': 'name: a\ntasks: [{ name: one, action: hold }]' })
    const id = await start('a.yaml')
    await held()
    const watch = new CliProcess(['workflow', 'watch', id], {
      ...options,
      through: inTerminal,
      env: { SHELL: '/bin/sh' },
    })
    await watch.sees(/Ctrl-C leaves/)
    letGo()
    const { code, stdout } = await watch.ended
    expect(code).toBe(0)
    const [screen = '', afterwards = ''] = stdout.split('\u001b[?1049l')
    expect(screen).toContain('\u001b[?1049h')
    expect(screen).toContain('\u001b[36m●')
    expect(afterwards).toMatch(/state.*succeeded/)
  },
)
