// What is charged to a job, and what becomes of one that has used up its tries.
import { times } from './counting.js'

const effectsOf = async (stage, label) => (await stage.effects()).filter(({ job }) => job === label).length

export const FM_011 = {
  name: 'Excess fetch burns retries',
  story: 'A fetches ahead of what it can run and is told to stop; what it gives back has no retries to spare',
  async play(stage, cast) {
    const policy = { retries: 0, localQueue: 2, batchSize: 2, localGroup: 1, leaseMs: 5_000 }
    const producer = await cast.actor('producer', { policy })
    const jobs = []
    for (const label of ['J1', 'J2']) jobs.push(await producer.call('enqueue', 'work', { label, limitKey: 'k' }))
    const a = await cast.actor('A', { policy })
    await stage.beginsWith(a, { work: ['gate:A', 'effect'] }, { graceMs: 5_000 })
    a.terminate()
    stage.open('A')
    await stage.until('A has ended', () => a.ended())
    const b = await cast.actor('B', { policy })
    await b.call('work', { work: ['effect'] })
    await stage.within(10_000, async () => (await stage.effects()).length >= 2)
    const [first, second] = [await effectsOf(stage, 'J1'), await effectsOf(stage, 'J2')]
    return {
      holds: first === 1 && second === 1,
      seen: `the job that ran was applied ${times(first)}, the other one, without retries, ${times(second)}`,
    }
  },
}

export const FM_012 = {
  name: 'Shutdown charged as failure',
  story: 'A, told to stop (SIGTERM), gives up a job that has no retries; B is there',
  async play(stage, cast) {
    const policy = { retries: 0, leaseMs: 5_000 }
    const producer = await cast.actor('producer', { policy })
    const job = await producer.call('enqueue', 'work', { label: 'J' })
    const a = await cast.actor('A', { policy })
    await stage.beginsWith(a, { work: ['gate:never', 'effect'] })
    a.terminate()
    await stage.until('A has ended', () => a.ended())
    const b = await cast.actor('B', { policy })
    await b.call('work', { work: ['effect'] })
    const run = await stage.within(15_000, async () => (await effectsOf(stage, 'J')) === 1)
    const { state } = await producer.call('look', job)
    return {
      holds: run,
      seen: run
        ? 'the job was run again, its only try not used up'
        : `the job is recorded as ${state} and was not run again: the shutdown has used up its only try`,
    }
  },
}

/** Workers come and die in the job until nobody begins it any more, or the patience of the play is at its end. */
async function dieInIt(stage, cast, policy, job, onlooker, most) {
  for (let n = 0; n < most; n++) {
    const worker = await cast.laterActor(`W${n}`, { policy })
    void worker.call('work', { work: ['die'] }).catch(() => {})
    const failed = async () => (await onlooker.call('look', job)).state === 'failed'
    await stage.until('the job is begun, or has failed', async () => worker.ended() || (await failed()))
    if (!worker.ended()) return worker
  }
  return undefined
}

export const FM_013 = {
  name: 'Poison job kills workers forever',
  story: 'the handler kills its process (SIGKILL) each time; two retries and two losses are allowed',
  async play(stage, cast) {
    const policy = { retries: 2, losses: 2 }
    const producer = await cast.actor('producer', { policy })
    const job = await producer.call('enqueue', 'work', { label: 'J' })
    const survivor = await dieInIt(stage, cast, policy, job, producer, 7)
    const runs = stage.began().length
    return {
      holds: survivor !== undefined && runs <= 3,
      seen: survivor
        ? `it failed for good after ${runs} workers had died in it`
        : `${runs} workers died in it, and no end`,
    }
  },
}

export const FM_034 = {
  name: 'Dead-letter move not atomic',
  story: 'the worker dies in the last attempt; the job has to be kept once, where it can be found and run again',
  async play(stage, cast) {
    const policy = { retries: 0, losses: 0 }
    const producer = await cast.actor('producer', { policy })
    const job = await producer.call('enqueue', 'work', { label: 'J' })
    const survivor = await dieInIt(stage, cast, policy, job, producer, 3)
    if (!survivor) return { holds: false, seen: 'it never failed' }
    await survivor.kill()
    await producer.call('rerun', job)
    const b = await cast.laterActor('B', { policy })
    await b.call('work', { work: ['effect'] })
    await stage.within(10_000, async () => (await effectsOf(stage, 'J')) > 0)
    const effects = await effectsOf(stage, 'J')
    return {
      holds: effects === 1,
      seen: `kept as failed after its worker had died; run again by hand, it was applied ${times(effects)}`,
    }
  },
}

export const FM_041 = {
  name: 'Unknown task discarded',
  story: 'A dies in a job; only a worker without a handler for it is there for a while; then B comes, which has one',
  async play(stage, cast) {
    const producer = await cast.actor('producer')
    const job = await producer.call('enqueue', 'work', { label: 'J' })
    const a = await cast.actor('A')
    void a.call('work', { work: ['die'] }).catch(() => {})
    await stage.until('A has died in the job', () => a.ended())
    const other = await cast.laterActor('other')
    await producer.call('enqueue', 'other', { label: 'O' })
    await other.call('work', { other: ['effect'] })
    await stage.until('the other worker works', async () => (await effectsOf(stage, 'O')) === 1)
    // Longer than any lease of these plays: the worker without a handler had the time to find the job.
    await stage.within(4_000, async () => (await producer.call('look', job)).state === 'failed')
    const b = await cast.laterActor('B')
    await b.call('work', { work: ['effect'] })
    await stage.within(10_000, async () => (await effectsOf(stage, 'J')) === 1)
    const effects = await effectsOf(stage, 'J')
    return { holds: effects === 1, seen: `the job was left alone, and applied ${times(effects)} by B` }
  },
}

export const FM_042 = {
  name: 'Retention deletes unrun work',
  story: 'nobody works for longer than the shortest retention; then B comes',
  async play(stage, cast) {
    const producer = await cast.actor('producer')
    const job = await producer.call('enqueue', 'work', { label: 'J' })
    await stage.within(5_000, async () => {
      await producer.call('cleanUp', job)
      return (await producer.call('look', job)).state === 'gone'
    })
    const b = await cast.actor('B')
    await b.call('work', { work: ['effect'] })
    const run = await stage.within(5_000, async () => (await effectsOf(stage, 'J')) === 1)
    return {
      holds: run,
      seen: run ? 'cleaned up, the job was still there and ran' : 'the waiting job was deleted unrun, as documented',
    }
  },
}
