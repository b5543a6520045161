// Jobs of one key, of which only so many may run at a time.
import { mostAtOnce } from './counting.js'

export const FM_014 = {
  name: 'Limit expires under its holder',
  story: 'of one key one job may run; A runs one for longer than the lease, alive and well; B must not begin the next',
  async play(stage, cast) {
    const policy = { limit: 1 }
    const producer = await cast.actor('producer', { policy })
    await producer.call('enqueue', 'work', { label: 'J1', limitKey: 'k' })
    const a = await cast.actor('A', { policy })
    await stage.beginsWith(a, { work: ['gate:A', 'effect'] })
    await producer.call('enqueue', 'work', { label: 'J2', limitKey: 'k' })
    const b = await cast.laterActor('B', { policy })
    await b.call('work', { work: ['effect'] })
    const beside = await stage.within(cast.peer === 'pg-boss' ? 12_000 : 3_500, () => stage.began('B').length > 0)
    stage.open('A')
    const ended = await stage.within(10_000, async () => (await stage.effects()).length >= 2)
    return {
      holds: !beside && ended,
      seen: beside
        ? `B began ${stage.began('B')[0].data.label} beside A`
        : `B began nothing beside A${ended ? '' : ', and nothing after it'}`,
    }
  },
}

export const FM_019 = {
  name: 'Slot not returned on give-back',
  story: 'of one key one job may run; the first fails and is tried again; both have to end, one at a time',
  async play(stage, cast) {
    const policy = { limit: 1, retryMs: 1_000 }
    const producer = await cast.actor('producer', { policy })
    for (const label of ['J1', 'J2']) await producer.call('enqueue', 'work', { label, limitKey: 'k' })
    const a = await cast.actor('A', { policy })
    await a.call('work', { work: ['takes:50', 'failOnce', 'worked', 'effect'] }, { concurrency: 2 })
    await stage.within(15_000, async () => (await stage.effects()).length >= 2)
    const effects = (await stage.effects()).length
    const most = mostAtOnce(stage)
    return { holds: effects === 2 && most === 1, seen: `${effects} of 2 jobs were applied, at most ${most} at a time` }
  },
}

export const FM_020 = {
  name: 'Double release by a presumed-dead worker',
  story: 'of one key one job may run; A stalls and loses its job; B runs; A ends late; nobody may begin beside B',
  async play(stage, cast) {
    const policy = { limit: 1, leaseMs: 4_000 }
    const producer = await cast.actor('producer', { policy })
    for (const label of ['J1', 'J2', 'J3']) await producer.call('enqueue', 'work', { label, limitKey: 'k' })
    const a = await cast.actor('A', { policy })
    await stage.beginsWith(a, { work: ['blocked:A'] })
    const b = await cast.laterActor('B', { policy })
    await stage.beginsWith(b, { work: ['gate:B'] })
    const before = stage.began().length
    stage.open('A')
    await stage.until('A ends', () => stage.told('ended', 'A').length + stage.told('threw', 'A').length > 0)
    const beside = await stage.within(1_500, () => stage.began().length > before)
    stage.open('B')
    return { holds: !beside, seen: beside ? 'another job was begun beside B' : 'nobody began beside B' }
  },
}

export const FM_021 = {
  name: 'Counting admits too many',
  story: 'several processes look for work of one key at the same moment',
  async play(stage, cast) {
    // A serial queue is all that one of them has.
    const limit = cast.peer === 'graphile-worker' ? 1 : 2
    const policy = { limit, leaseMs: 10_000 }
    const producer = await cast.actor('producer', { policy })
    for (let n = 0; n < 16; n++) await producer.call('enqueue', 'work', { label: `J${n}`, limitKey: 'k' })
    const workers = await Promise.all(['A', 'B', 'C'].map((name) => cast.actor(name, { policy })))
    await Promise.all(
      workers.map((each) => each.call('work', { work: ['takes:40', 'worked', 'effect'] }, { concurrency: 4 })),
    )
    await stage.until('all jobs end', async () => (await stage.effects()).length >= 16)
    const most = mostAtOnce(stage)
    const seen = `limit ${limit}, 12 handlers in 3 processes: ${most} at a time`
    if (cast.peer !== 'pg-boss' || most > limit) return { holds: most <= limit, seen }
    await Promise.all(workers.map((each) => each.kill()))
    return twoFetches(cast, producer, policy, seen)
  },
}

/** Two fetches that overlap: each begins before the other has committed, as two workers' do now and then. */
async function twoFetches(cast, producer, policy, before) {
  for (let n = 0; n < 4; n++) await producer.call('enqueue', 'work', { label: `K${n}`, limitKey: 'k' })
  const [a, b] = [await cast.actor('D', { policy }), await cast.actor('E', { policy })]
  const fetched = [await a.call('beginFetch', 'work', 2), await b.call('beginFetch', 'work', 2)]
  await a.call('commitFetch')
  await b.call('commitFetch')
  const active = fetched[0] + fetched[1]
  return {
    holds: active <= policy.limit,
    seen: `${before}; two fetches that overlapped, in transactions, took ${active}`,
  }
}
