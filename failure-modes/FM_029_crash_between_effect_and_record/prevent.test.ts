import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type JobContext, type Reconciled, task } from '../../src/index.js'
import { callOutside, installOutsideWorld, outsideCalls } from '../../src/lab/outside-world.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { anything, door, next, setupWorker } from '../../test/worker/setup.js'

it('FM_029: the intent is found, the call is repeated with the same key, and the second charge is none', async () => {
  const { prevent } = await bundleUnderTest('FM_029')

  const played = await prevent()

  expect(noteOf(played, 'A', 'records its intent')).toBe('begun')
  expect(noteOf(played, 'B', 'records its intent')).toBe('ambiguous')
  expect(noteOf(played, 'B', 'charges')).toBe('known by its key, not charged')
  expect(noteOf(played, 'B', 'records the result')).toBe('recorded')
  expect(played.violations).toEqual([])
})

const timeoutMs = 15 * 60_000
type Charged = { by: string }

/**
 * Worker A is gone after it has called the provider, or just before; worker B takes the job up. Keys are sent only where
 * the way is to repeat: the other ways are for a provider that knows none.
 */
async function crash(when: 'after the call' | 'before the call', way: 'repeat' | 'ask' | 'park') {
  const { fp, url, connect, sql, loseAll, client, db, advance } = await setupWorker()
  const provider = await connect()
  await installOutsideWorld(provider, 'fencepost')
  const calls = () => outsideCalls(provider, 'fencepost')
  const asked: string[] = []
  const ask = async (): Promise<Reconciled<Charged>> => {
    asked.push('asked')
    const [first] = await calls()
    return first ? { happened: true, result: { by: first.by } } : { happened: false }
  }
  const gate = door()
  const pay = (by: string, job: JobContext) =>
    job.step(
      'pay',
      async ({ key }) => {
        if (by === 'A' && when === 'before the call') await gate.pass()
        await callOutside(url, 'fencepost', { jobId: job.id, by, key: way === 'repeat' ? key : null })
        if (by === 'A') await gate.pass()
        return { by }
      },
      { onAmbiguous: way === 'ask' ? ask : way },
    )
  const aTask = (by: string) => task('charge', { input: anything, timeout: timeoutMs, run: (_, job) => pay(by, job) })

  const a = await fp.work([aTask('A')], { poll: '20ms', concurrency: 1 })
  const reached = gate.reached()
  const job = await fp.enqueue(aTask('A'), null)
  await reached
  void a.stop() // it must not take the job up again
  await loseAll()
  const b = await client()
  return {
    job,
    b,
    sql,
    asked,
    takeUp: () => b.work([aTask('B')], { poll: '20ms' }),
    result: () => b.result(job.id, { timeout: '10s' }),
    /** The old attempt must be over, by its timeout. */
    timeIsUp: () => advance(timeoutMs),
    calls: async () => (await calls()).map(({ by, charged }) => `${by} ${charged ? 'charged' : 'known'}`),
    keys: async () => (await calls()).map(({ key }) => key),
    auditOk: async () => (await audit(db)).ok,
  }
}

it('FM_029: by default a worker repeats the call with the same key: two calls, one charge', async () => {
  const { takeUp, result, calls, keys, auditOk } = await crash('after the call', 'repeat')

  await takeUp()

  expect(await result()).toEqual({ by: 'B' })
  expect(await calls()).toEqual(['A charged', 'B known'])
  const [first, second] = await keys()
  expect(first).toMatch(/^[0-9a-f]{32}$/)
  expect(second).toBe(first)
  expect(await auditOk()).toBe(true)
})

it('FM_029: the key alone keeps the charge single, also where the intent is lost: it is derived, not stored', async () => {
  const { takeUp, result, calls, sql } = await crash('after the call', 'repeat')
  await sql('delete from fencepost.step')

  await takeUp()

  expect(await result()).toEqual({ by: 'B' })
  expect(await calls()).toEqual(['A charged', 'B known'])
})

it.each([
  ['after the call', 'A'],
  ['before the call', 'B'],
] as const)(
  'FM_029: the intent alone, with a provider that knows no keys: killed %s, it is asked, and %s’s charge is the only one',
  async (when, by) => {
    const { takeUp, timeIsUp, result, calls, asked, b } = await crash(when, 'ask')
    const parked = next(b, 'parked')

    await takeUp()
    await parked
    expect(asked).toEqual([]) // the old attempt may be slow, not dead
    await timeIsUp()

    expect(await result()).toEqual({ by })
    expect(asked).toHaveLength(1)
    expect(await calls()).toEqual([`${by} charged`])
  },
)

it('FM_029: parked, the job waits for a person who knows, and the call is not repeated', async () => {
  const { takeUp, timeIsUp, result, calls, b, job } = await crash('after the call', 'park')
  const forTheOldAttempt = next(b, 'parked')
  await takeUp()
  await forTheOldAttempt
  const forAPerson = next(b, 'parked')
  await timeIsUp()
  await forAPerson

  expect(await b.signal(job.id, 'step:pay', { happened: true, result: { by: 'A' } })).toBe('woken')

  expect(await result()).toEqual({ by: 'A' })
  expect(await calls()).toEqual(['A charged'])
})
