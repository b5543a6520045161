import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { announceTasks } from '../../src/store/enqueue.js'
import { listGates, pause, setLimit } from '../../src/store/gates.js'
import { fail, park } from '../../src/store/settle.js'
import { gates, setupGates } from '../harness/gates.js'
import { cli, cliJson, refused } from './cli-process.js'

/** Cells of a table, without the padding. */
const cells = (stdout: string) => stdout.split('\n').map((line) => line.trim().split(/ {2,}/))
const strict = { key: 'fifo:k' }
const register = `select fencepost.register($1, 1, 'box', '0', $2, $3::text[])`

async function setupStrict() {
  const bundle = await setupGates()
  const head = await bundle.gated(strict)
  const next = await bundle.gated(strict)
  await fail(bundle.db, [{ ...(await bundle.take()), errorText: '{}', delayMs: 120_000, final: false }])
  return { ...bundle, head, next }
}

it('lists the gates, with notes on set and disputed limits, and what else is paused', async () => {
  const { url, db, gated, advance } = await setupGates()
  for (let i = 0; i < 3; i++) await gated({ key: 'gate:api' }, { task: 'careful' })
  await gated({ key: 'gate:api', limit: 4 }, { task: 'generous' })
  await gated({ key: 'gate:mail', limit: 5 })
  await setLimit(db, 'gate:mail', 9)
  await gated({ key: 'group:a', limit: 3, local: 1 })
  await pause(db, 'group:a')
  await pause(db, 'task:export')
  await advance(125_000)

  const { code, stdout, stderr } = await cli(['gates'], { url })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(cells(stdout)).toEqual([
    ['KEY', 'LIMIT', 'HELD', 'WAITING', 'OLDEST', 'PAUSED', 'NOTE'],
    [
      'gate:api',
      '1',
      '1',
      '3',
      expect.stringMatching(/^2m \ds$/),
      '-',
      'tasks careful and generous declare different limits: the lower one holds',
    ],
    ['gate:mail', '9', '1', '0', '-', '-', 'set by hand, task test declares 5'],
    ['group:a', '3', '1', '0', '-', expect.stringMatching(/^2m \ds ago$/), '1 per process'],
    [''],
    [expect.stringMatching(/^Paused: task:export \(2m \ds ago\)\. To end it: fencepost resume task:export$/)],
    [''],
  ])
  expect(await cliJson(['gates'], { url })).toMatchObject([
    { key: 'gate:api', limit: 1, held: 1, waiting: 3, declaredBy: 'careful', disputedBy: 'generous' },
    { key: 'gate:mail', limit: 9, setLimit: 9, declaredLimit: 5 },
    { key: 'group:a', limit: 3, perProcess: 1, pausedAt: expect.any(String) as string },
  ])
})

it('says so when no gate is in use', async () => {
  const { url } = await setupGates()
  expect((await cli(['gates'], { url })).stdout).toBe('No gate is in use.\n')
  expect(await cliJson(['gates', 'list'], { url })).toEqual([])
})

it('shows who holds a gate and since when, and who is next', async () => {
  const { url, gated, take, add } = await setupGates()
  const running = await gated({ limit: 2 })
  await take({ worker: 'w7' })
  await gated({ key: 'gate:z' })
  const between = await add({ gatesText: gates({ key: 'gate:k', limit: 2 }, { key: 'gate:z' }) })
  const later = await gated({ limit: 2 })
  const sooner = await gated({ limit: 2 }, { priority: -1, task: 'urgent', queue: 'fast' })

  const { code, stdout, stderr } = await cli(['gates', 'show', 'gate:k'], { url })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(cells(stdout)).toEqual([
    ['gate', 'gate:k'],
    ['limit', '2'],
    ['held', '2'],
    ['waiting', expect.stringMatching(/^2, the oldest for \d/)],
    [''],
    ['HELD BY', 'TASK', 'QUEUE', 'PLACE', 'WHICH'],
    [running, 'test', 'default', 'leased', expect.stringMatching(/^runs for \S+ on w7$/)],
    [between, 'test', 'default', 'waiting', expect.stringMatching(/^waits at its next gate for \S+$/)],
    [''],
    ['NEXT', 'TASK', 'QUEUE', 'PRIORITY', 'WAITS FOR'],
    [sooner, 'urgent', 'fast', '-1', expect.stringMatching(/^\d/)],
    [later, 'test', 'default', '0', expect.stringMatching(/^\d/)],
    [''],
  ])
  expect(await cliJson(['gates', 'show', 'gate:k'], { url })).toMatchObject({
    key: 'gate:k',
    holders: [{ jobId: running }, { jobId: between }],
    waiters: [{ jobId: sooner }, { jobId: later }],
  })
})

it('names the head that blocks a strict gate, and what can be done', async () => {
  const { url, head, next, places } = await setupStrict()

  const { stdout } = await cli(['gates', 'show', 'fifo:k'], { url })
  expect(stdout).toMatch(new RegExp(`^${head} .* delayed +is delayed for another 1m \\d+s after 1 failure$`, 'm'))
  expect(stdout).toContain(`fencepost jobs skip ${head}\n`)
  expect(stdout).toContain(`fencepost jobs cancel ${head}\n`)

  const skipped = await cli(['jobs', 'skip', head, next], { url })
  expect(skipped).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      new RegExp(`^${head} skipped: the others pass.*\n${next} not skipped: it is ready to run\n$`),
    ) as string,
    stderr: '',
  })
  expect(await places(head, next)).toEqual(['delayed', 'ready'])
  expect((await cli(['gates', 'show', 'fifo:k'], { url })).stdout).not.toContain('jobs skip')
  const id = randomUUID()
  expect(await cli(['jobs', 'skip', id, '--json'], { url })).toEqual({
    code: 1,
    stdout: `${JSON.stringify([{ id, answer: 'missing', outcome: null }])}\n`,
    stderr: expect.stringContaining('FP_JOB_UNKNOWN') as string,
  })
})

it('sets a limit over what is declared, tells what that means, and takes it back', async () => {
  const { url, gated, db, turn, places } = await setupGates()
  const [a, b, c] = [await gated({ limit: 2 }), await gated({ limit: 2 }), await gated({ limit: 2 })]

  expect((await cli(['gates', 'limit', 'gate:k', '1'], { url })).stdout).toBe(
    'gate:k: limit 1, was 2\n2 hold it: they go on, and nobody is let in until it is below.\n',
  )
  expect((await cli(['gates'], { url })).stdout).toContain('above its limit')
  expect(await cliJson(['gates', 'limit', 'gate:k', '3'], { url })).toEqual({ key: 'gate:k', limit: 3, before: 1 })
  await turn()
  expect(await places(a, b, c)).toEqual(['ready', 'ready', 'ready'])
  expect((await cli(['gates', 'limit', 'gate:k', '--reset'], { url })).stdout).toContain('gate:k: limit 2, was 3\n')
  expect(await listGates(db)).toMatchObject([{ limit: 2, setLimit: null }])
})

it('sets a limit before the first job, and asks whether another gate was meant', async () => {
  const { url, gated } = await setupGates()
  await gated({ key: 'gate:mail' })
  const { stdout } = await cli(['gates', 'limit', 'gate:mial', '4'], { url })
  expect(stdout).toContain('No job has used this gate yet')
  expect(stdout).toContain('Did you mean gate:mail? Then: fencepost gates limit gate:mial --reset')
})

it('refuses what cannot be meant', async () => {
  const { url, gated, db } = await setupGates()
  await gated({ key: 'gate:mail' })
  const misspelt = await cli(['gates', 'show', 'gate:mial'], { url })
  expect(misspelt).toEqual(refused('FP_GATE_UNKNOWN', '"gate:mial"'))
  expect(misspelt.stderr).toContain('Did you mean gate:mail?')
  expect(await cli(['gates', 'limit', 'gate:none', '--reset'], { url })).toEqual(
    refused('FP_GATE_UNKNOWN', '"gate:none"'),
  )
  const forgotten = await cli(['gates', 'show', 'mail'], { url })
  expect(forgotten).toEqual(refused('FP_OPTION_INVALID', 'must begin with gate:, fifo: or group:'))
  expect(forgotten.stderr).toContain('Did you mean "gate:mail"?')
  for (const limit of ['0', 'many', '1.5', '1000001']) {
    expect(await cli(['gates', 'limit', 'gate:mail', limit], { url })).toEqual(
      refused('FP_OPTION_INVALID', 'the limit must be a whole number'),
    )
  }
  expect(await cli(['gates', 'limit', 'gate:mail', '--', '-1'], { url })).toEqual(
    refused('FP_OPTION_INVALID', 'the limit must be a whole number'),
  )
  expect(await cli(['gates', 'limit', 'fifo:a', '2'], { url })).toEqual(refused('FP_OPTION_INVALID', 'is strict'))
  expect(await listGates(db)).toMatchObject([{ key: 'gate:mail', setLimit: null }])
})

it('pauses and resumes a queue, a task and a gate', async () => {
  const { url, db, gated } = await setupGates()
  await announceTasks(db, [{ name: 'send', queue: 'mail' }])
  await gated({ key: 'fifo:a' })
  for (const what of ['queue:mail', 'task:send', 'fifo:a']) {
    expect((await cli(['pause', what], { url })).stdout).toBe(`${what}: paused. To end it: fencepost resume ${what}\n`)
  }
  expect((await cli(['pause', 'queue:mail'], { url })).stdout).toBe('queue:mail: is paused\n')
  expect((await cli(['gates'], { url })).stdout).toMatch(/Paused: queue:mail \(.* ago\), task:send \(.* ago\)/)
  expect((await cli(['queues'], { url })).stdout).toMatch(/^mail .* paused since \d{4}-/m)
  expect((await cli(['gates', 'show', 'fifo:a'], { url })).stdout).toContain('fencepost resume fifo:a\n')
  for (const what of ['queue:mail', 'task:send']) {
    expect((await cli(['resume', what], { url })).stdout).toBe(`${what}: resumed\n`)
  }
  expect(await cliJson(['resume', 'fifo:a'], { url })).toEqual({ what: 'fifo:a', answer: 'resumed' })
  expect(await cliJson(['resume', 'fifo:a'], { url })).toEqual({ what: 'fifo:a', answer: 'already' })
})

it('does not pause what it does not know, except a gate', async () => {
  const { url, db } = await setupGates()
  await announceTasks(db, [{ name: 'send', queue: 'mail' }])
  const misspelt = await cli(['pause', 'queue:mial'], { url })
  expect(misspelt).toEqual(refused('FP_QUEUE_UNKNOWN', '"mial"'))
  expect(misspelt.stderr).toContain('Did you mean mail?')
  expect(await cli(['pause', 'task:sedn'], { url })).toEqual(refused('FP_TASK_UNKNOWN', '"sedn"'))
  expect((await cli(['pause', 'gate:new'], { url })).stdout).toContain('No job uses this gate now.')
})

it('tells in jobs show why a job does not run', async () => {
  const { url, db, add, gated, take, sql, turn } = await setupGates()
  const why = async (id: string) => {
    const { stdout } = await cli(['jobs', 'show', id], { url })
    return /^why not +(.*)$/m.exec(stdout)?.[1]
  }
  const holder = await gated()
  await take({ worker: 'w7' })
  const second = await gated()
  const third = await gated()
  expect(await why(holder)).toBeUndefined()
  expect(await why(third)).toMatch(
    new RegExp(`^it waits at gate:k for \\S+, with 1 other ahead of it; 1 of 1 held: ${holder} runs for \\S+ on w7$`),
  )
  expect(await why(second)).toContain('with nobody ahead of it')
  const { stdout } = await cli(['jobs', 'show', third], { url })
  expect(stdout).toMatch(/^place +waiting at gate:k$/m)
  expect(stdout).toMatch(/^gates +gate:k \(1\)$/m)
  expect(stdout).toMatch(/ enqueued in default\n.*→ waiting +waits at gate:k\n/)
  expect(await cliJson(['jobs', 'show', third], { url })).toMatchObject({
    waitsAt: 'gate:k',
    why: { because: 'gate', key: 'gate:k', ahead: { count: 1, orMore: false } },
  })

  await setLimit(db, 'gate:k', 2)
  expect(await why(second)).toMatch(/there is room, and a worker has to see that, but no live worker is there/)
  await turn()
  expect(await why(second)).toBe('no live worker is there: fencepost worker')
  await sql(register, ['w1', { default: 1 }, ['other']])
  expect(await why(second)).toBe('no live worker serves task test in queue default: fencepost workers')
  await sql(register, ['w2', { default: 1 }, ['test']])
  expect(await why(second)).toBe('it is ready, with nobody ahead of it in queue default')
  await pause(db, 'queue:default')
  expect(await why(second)).toMatch(/^queue default was paused \S+ ago: fencepost resume queue:default$/)
  await pause(db, 'gate:k')

  const delayed = await add({ delayMs: 120_000, queue: 'slow' })
  expect(await why(delayed)).toMatch(/^it is delayed for another 1m \d+s$/)
  const parked = await add({ queue: 'slow' })
  await park(db, await take({ queue: 'slow' }), 'approved', null)
  expect(await why(parked)).toBe('it is parked until the signal approved comes')
})

it('lets no key or name steer the terminal', async () => {
  const { url, add, gated } = await setupGates()
  await gated({ key: 'gate:\u001b[31mred' })
  const id = await add({ gatesText: gates({ key: 'gate:\u001b[31mred' }) })
  for (const args of [['gates'], ['jobs', 'show', id], ['jobs', 'list']]) {
    const { stdout } = await cli(args, { url })
    expect(stdout).toContain('gate:\\u001b[31mred')
    expect(stdout).not.toContain('\u001b')
  }
})
