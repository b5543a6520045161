// One job that follows when all others have ended.
import { times } from './counting.js'

const parents = (stage) => stage.began().filter(({ task }) => task === 'parent').length
const children = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8']

export const FM_007 = {
  name: 'Fan-in dispatches the successor once per sibling',
  story: 'eight jobs end in the same instant, in two processes; what follows has to run once',
  async play(stage, cast) {
    const producer = await cast.actor('producer', { policy: { leaseMs: 10_000 } })
    await producer.call('fanIn', children)
    const workers = await Promise.all(['A', 'B'].map((name) => cast.actor(name, { policy: { leaseMs: 10_000 } })))
    const programs = { child: ['gate:all', 'effect'], parent: ['effect'] }
    await Promise.all(workers.map((each) => each.call('work', programs, { concurrency: 4 })))
    await stage.until('all children run', () => stage.began().length >= children.length)
    stage.open('all')
    await stage.within(15_000, async () => (await stage.effects()).some(({ job }) => job === 'parent'))
    await stage.within(1_500, () => parents(stage) > 1)
    const effects = (await stage.effects()).length
    return {
      holds: parents(stage) === 1 && effects === children.length + 1,
      seen: `after ${children.length} jobs that ended together, the one that follows ran ${times(parents(stage))}`,
    }
  },
}

export const FM_008 = {
  name: 'Fan-in lost',
  story: 'the only worker is killed when the last of three jobs has ended; B comes; what follows has to run once',
  async play(stage, cast) {
    const producer = await cast.actor('producer')
    await producer.call('fanIn', ['c1', 'c2', 'c3'])
    const a = await cast.actor('A')
    await a.call('work', { child: ['effect'] })
    await stage.until('the last child ends', () => stage.told('ended').length === 3)
    await a.kill()
    const b = await cast.laterActor('B')
    await b.call('work', { child: ['effect'], parent: ['effect'] })
    await stage.within(20_000, async () => (await stage.effects()).some(({ job }) => job === 'parent'))
    await stage.within(1_500, () => parents(stage) > 1)
    return { holds: parents(stage) === 1, seen: `after the crash, the one that follows ran ${times(parents(stage))}` }
  },
}
