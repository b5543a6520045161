// The producer repeats itself, or has another time of day.
import { times } from './counting.js'

const hour = 3_600_000
const runsOf = (stage, label) => stage.began().filter(({ data }) => data.label === label).length

/** The answer is lost on its way; who gets an error sends again. A client that repeats by itself gets none. */
async function sendAndLoseTheAnswer(producer, proxy, label, options) {
  proxy.cutAnswerTo(label)
  try {
    await producer.call('enqueue', 'work', { label }, options)
  } catch {
    await producer.call('enqueue', 'work', { label }, options)
  }
  if (proxy.cuts === 0) throw new Error('no answer was cut')
  proxy.cuts = 0
}

export const FM_023 = {
  name: 'Ambiguous commit doubles an enqueue',
  story:
    'the server has stored the job, the answer is cut off, the producer sends again: at once, and after the job’s end',
  async play(stage, cast) {
    const proxy = await stage.proxy()
    const producer = await cast.actor('producer', { through: proxy })
    // What a client asks when it first connects is not what is to be cut.
    await producer.call('enqueue', 'work', { label: 'warm-up' })
    await sendAndLoseTheAnswer(producer, proxy, 'keyed', { key: 'order-1' })
    await sendAndLoseTheAnswer(producer, proxy, 'unkeyed', {})
    const b = await cast.actor('B')
    await b.call('work', { work: ['effect'] })
    await producer.call('enqueue', 'work', { label: 'sentinel' })
    await stage.until('all of them ran', () => stage.told('ended').some(({ data }) => data.label === 'sentinel'))
    const atOnce = runsOf(stage, 'keyed')
    await producer.call('enqueue', 'work', { label: 'keyed' }, { key: 'order-1' })
    await producer.call('enqueue', 'work', { label: 'last' })
    await stage.until('what was sent later ran', () => stage.told('ended').some(({ data }) => data.label === 'last'))
    const later = runsOf(stage, 'keyed')
    return {
      holds: atOnce === 1 && later === 1,
      seen: `sent again with its key at once: run ${times(atOnce)}; and again after its end: ${times(later)}; without a key, sent again at once: ${times(runsOf(stage, 'unkeyed'))}`,
    }
  },
}

export const FM_024 = {
  name: 'Enqueue retry clobbers a consumer',
  story: 'the job runs; it is sent again with its key; then the run fails and is tried again',
  async play(stage, cast) {
    const policy = { retries: 1, leaseMs: 10_000 }
    const producer = await cast.actor('producer', { policy })
    await producer.call('enqueue', 'work', { label: 'J' }, { key: 'order-1' })
    const a = await cast.actor('A', { policy })
    await stage.beginsWith(a, { work: ['gate:A', 'failOnce', 'effect'] })
    await producer.call('enqueue', 'work', { label: 'J' }, { key: 'order-1' })
    stage.open('A')
    await stage.within(15_000, async () => (await stage.effects()).length > 0)
    await producer.call('enqueue', 'work', { label: 'sentinel' })
    await stage.until('A goes on', () => stage.told('ended').some(({ data }) => data.label === 'sentinel'))
    // Whatever the repeated enqueue has made is begun by now, or is delayed for no longer than a retry.
    await stage.within(1_000, () => runsOf(stage, 'J') > 2)
    const effects = (await stage.effects()).filter(({ job }) => job === 'J').length
    const runs = runsOf(stage, 'J')
    return {
      holds: effects === 1 && runs === 2,
      seen: `begun ${times(runs)} (a failure and a retry are two), applied ${times(effects)}`,
    }
  },
}

export const FM_033 = {
  name: 'Clock skew',
  story:
    'a job is due in 30 minutes; a worker’s clock is an hour ahead; and one from a producer whose clock is an hour behind',
  async play(stage, cast) {
    const producer = await cast.actor('producer')
    await producer.call('enqueue', 'work', { label: 'ahead' }, { delayMs: hour / 2 })
    const worker = await cast.actor('W', { clockAheadMs: hour })
    await worker.call('work', { work: ['effect'] })
    await producer.call('enqueue', 'work', { label: 'sentinel' })
    await stage.until('the worker works', () => runsOf(stage, 'sentinel') === 1)
    const early = await stage.within(3_000, () => runsOf(stage, 'ahead') > 0)
    await worker.kill()
    const behind = await cast.actor('P', { clockAheadMs: -hour })
    await behind.call('enqueue', 'work', { label: 'behind' }, { delayMs: hour / 2 })
    const right = await cast.actor('R')
    await right.call('work', { work: ['effect'] })
    const atOnce = await stage.within(3_000, () => runsOf(stage, 'behind') > 0)
    const word = (begun) => (begun ? 'was begun at once' : 'waited')
    return {
      holds: !early && !atOnce,
      seen: `with a worker ahead the job ${word(early)}, with a producer behind it ${word(atOnce)}`,
    }
  },
}
