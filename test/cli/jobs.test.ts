import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { announceTasks } from '../../src/store/enqueue.js'
import { fail, finish } from '../../src/store/settle.js'
import { setup } from '../harness/setup.js'
import { cli, cliJson, refused } from './cli-process.js'

const viewKeys = [
  'id',
  'task',
  'queue',
  'place',
  'outcome',
  'priority',
  'tries',
  'failures',
  'losses',
  'releases',
  'createdAt',
  'dueAt',
  'finishedAt',
  'worker',
  'expiresAt',
  'waitName',
  'waitsAt',
  'waitsSince',
  'cancelRequestedAt',
  'reason',
]

/** One job in each of four places: succeeded, failed, ready, delayed. */
async function setupJobs() {
  const bundle = await setup()
  const { db, add, take } = bundle
  const succeeded = await add({ task: 'send-mail' })
  await finish(db, [{ ...(await take()), resultText: '{"ok":true}' }])
  const failed = await add({ task: 'charge-card' })
  const errorText = '{"name":"Error","message":"card \\u001b[31mdeclined"}'
  await fail(db, [{ ...(await take()), errorText, delayMs: 0, final: true }])
  const ready = await add({ task: 'send-mail' })
  const delayed = await add({ task: 'report', queue: 'slow', delayMs: 60_000 })
  await announceTasks(db, [
    { name: 'send-mail', queue: 'default' },
    { name: 'report', queue: 'slow' },
  ])
  return { ...bundle, succeeded, failed, ready, delayed }
}

it('lists jobs in an aligned table; jobs alone is short for jobs list', async () => {
  const { url, succeeded, failed, ready, delayed } = await setupJobs()

  const { code, stdout, stderr } = await cli(['jobs'], { url })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [titles = '', ...lines] = stdout.trimEnd().split('\n')
  expect(titles).toMatch(/^ID +TASK +QUEUE +PLACE +OUTCOME +TRIES +CREATED +NOTE$/)
  expect(lines.map((line) => line.slice(0, 36)).sort()).toEqual([succeeded, failed, ready, delayed].sort())
  for (const line of lines)
    expect(line.slice(titles.indexOf('PLACE')).split(' ')[0]).toMatch(/^(ready|delayed|finished)$/)
  expect(lines.find((line) => line.startsWith(failed))).toMatch(/charge-card .* finished +failed +1 .* not_retryable$/)
})

it('filters by place, outcome, task, queue and number', async () => {
  const { url, succeeded, failed, ready, delayed } = await setupJobs()
  const ids = async (...filter: string[]) => {
    const jobs = await cliJson<{ id: string }[]>(['jobs', 'list', ...filter], { url })
    return jobs.map(({ id }) => id).sort()
  }
  expect(await ids('--place', 'delayed')).toEqual([delayed])
  expect(await ids('--outcome', 'failed')).toEqual([failed])
  expect(await ids('--task', 'send-mail')).toEqual([succeeded, ready].sort())
  expect(await ids('--queue', 'slow')).toEqual([delayed])
  expect(await ids('--limit', '3')).toHaveLength(3)
})

it('refuses filters that cannot be meant', async () => {
  const { url } = await setupJobs()
  const misspelt = await cli(['jobs', '--task', 'send-mial'], { url })
  expect(misspelt).toEqual(refused('FP_TASK_UNKNOWN', '"send-mial"'))
  expect(misspelt.stderr).toContain('Did you mean send-mail?')
  expect(await cli(['jobs', '--queue', 'slwo'], { url })).toEqual(refused('FP_QUEUE_UNKNOWN', '"slwo"'))
  expect(await cli(['jobs', '--limit', '0'], { url })).toEqual(refused('FP_OPTION_INVALID', '--limit'))
  expect(await cli(['jobs', '--place', 'ready', '--outcome', 'failed'], { url })).toEqual(
    refused('FP_OPTION_INVALID', 'a job in ready has no outcome'),
  )
})

it('shows a job with its payload, its end and its history, and lets nobody else’s text steer the terminal', async () => {
  const { url, failed } = await setupJobs()

  const { code, stdout } = await cli(['jobs', 'show', failed], { url })

  expect(code).toBe(0)
  expect(stdout).toMatch(new RegExp(`^job +${failed}\ntask +charge-card\nqueue +default, priority 0\n`))
  expect(stdout).toMatch(/^place +finished failed \(not_retryable\)$/m)
  expect(stdout).toMatch(/^counters +1 try, 1 failure, 0 losses, 0 releases$/m)
  expect(stdout).toMatch(/^error +card \\u001b\[31mdeclined$/m)
  expect(stdout).toMatch(
    /→ ready +enqueued in default\n.*→ leased +attempt 1 claimed by w1 .*\n.*attempt 1 started\n.*→ finished +attempt 1 failed: not_retryable: card/,
  )
  expect(stdout).not.toContain('\u001b')
})

it('answers jobs list and jobs show in JSON with stable keys', async () => {
  const { url, failed } = await setupJobs()

  const [listed] = await cliJson<object[]>(['jobs', '--limit', '1'], { url })
  expect(Object.keys(listed as object)).toEqual(viewKeys)

  const shown = await cliJson<{ attempts: object[] }>(['jobs', 'show', failed], { url })
  expect(shown).toMatchObject({
    id: failed,
    place: 'finished',
    outcome: 'failed',
    payload: {},
    result: null,
    error: { message: expect.stringContaining('declined') as string },
    attempts: [{ ending: 'failed', worker: 'w1', reason: 'not_retryable' }],
  })
  expect(Object.keys(shown)).toEqual(
    expect.arrayContaining([...viewKeys, 'gates', 'notBefore', 'claimedAt', 'startedAt', 'why']),
  )
})

it('refuses an id that is malformed or unknown', async () => {
  const { url } = await setup()
  const id = randomUUID()
  expect(await cli(['jobs', 'show', 'nonsense'], { url })).toEqual(refused('FP_ID_INVALID', '"nonsense"'))
  expect(await cli(['jobs', 'retry', id, `1' or '1'='1`], { url })).toEqual(refused('FP_ID_INVALID', `1' or '1'='1`))
  expect(await cli(['jobs', 'show', id], { url })).toEqual(refused('FP_JOB_UNKNOWN', id))
  expect(await cli(['jobs', 'cancel', id, '--json'], { url })).toEqual({
    code: 1,
    stdout: `${JSON.stringify([{ id, answer: 'missing', outcome: null }])}\n`,
    stderr: expect.stringMatching(/^\{"error":\{"code":"FP_JOB_UNKNOWN","message":.*,"hint":.*\}\}\n$/) as string,
  })
})

it('retries what has ended, and tells what it did not retry', async () => {
  const { url, failed, ready, see } = await setupJobs()

  const { code, stdout } = await cli(['jobs', 'retry', failed, ready], { url })

  expect(code).toBe(0)
  expect(stdout.split('\n').sort()).toEqual(['', `${failed} retried`, `${ready} not retried: it has not ended`].sort())
  expect(await see(failed)).toMatchObject({ place: 'ready', failures: 1 })
})

it('refuses to retry a success, and retries the others', async () => {
  const { url, succeeded, failed, see } = await setupJobs()

  const { code, stdout, stderr } = await cli(['jobs', 'retry', succeeded, failed], { url })

  expect(code).toBe(1)
  expect(stdout).toContain(`${failed} retried\n`)
  expect(stderr).toMatch(new RegExp(`^fencepost: .*${succeeded} \\(FP_JOB_FINAL\\)\n.+\n$`))
  expect(await see(succeeded)).toMatchObject({ place: 'finished', outcome: 'succeeded' })
})

it('cancels what waits, asks what runs, and leaves what has ended', async () => {
  const { url, succeeded, ready, delayed, take, see } = await setupJobs()
  await take()

  const answers = await cliJson(['jobs', 'cancel', succeeded, ready, delayed, '--reason', 'not needed'], { url })

  expect(answers).toHaveLength(3)
  expect(answers).toEqual(
    expect.arrayContaining([
      { id: succeeded, answer: 'finished', outcome: 'succeeded' },
      { id: ready, answer: 'requested', outcome: null },
      { id: delayed, answer: 'cancelled', outcome: 'cancelled' },
    ]),
  )
  expect(await see(delayed)).toMatchObject({ place: 'finished', outcome: 'cancelled', reason: 'not needed' })
  expect((await cli(['jobs', 'show', ready], { url })).stdout).toMatch(/^place +leased by w1 cancel requested$/m)
})
