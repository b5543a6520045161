// Connections that are lost, cancels that come late, and work that others push aside.
import { times } from './counting.js'

const runsOf = (stage, label) => stage.began().filter(({ data }) => data.label === label).length
const isOver = (stage, label) => stage.told('ended').some(({ data }) => data.label === label)

export const FM_030 = {
  name: 'Lost NOTIFY, lost LISTEN connection',
  story: 'all connections of an idle worker are cut; a job is enqueued at that moment',
  async play(stage, cast) {
    const proxy = await stage.proxy()
    const producer = await cast.actor('producer')
    const a = await cast.actor('A', { through: proxy })
    await a.call('work', { work: ['effect'] })
    await producer.call('enqueue', 'work', { label: 'first' })
    await stage.until('the worker works', () => isOver(stage, 'first'))
    proxy.goAway()
    await producer.call('enqueue', 'work', { label: 'J' })
    proxy.comeBack()
    const begunAt = performance.now()
    const begun = await stage.within(20_000, () => runsOf(stage, 'J') === 1)
    const seconds = Math.ceil((performance.now() - begunAt) / 1000)
    return {
      holds: begun,
      seen: begun ? 'the job ran when the worker had connected again' : `the job was not begun for ${seconds} s`,
    }
  },
}

export const FM_031 = {
  name: 'Cancel lost, or cancel and complete both win',
  story: 'a job is cancelled while it runs, and its handler then comes to its end',
  async play(stage, cast) {
    const policy = { leaseMs: 10_000 }
    const producer = await cast.actor('producer', { policy })
    const job = await producer.call('enqueue', 'work', { label: 'J' }, { key: 'c' })
    const a = await cast.actor('A', { policy })
    await stage.beginsWith(a, { work: ['blocked:A', 'effect'] })
    const answer = await producer.call('cancel', { ...job, key: 'c' })
    stage.open('A')
    await producer.call('enqueue', 'work', { label: 'sentinel' })
    await stage.until('A goes on', () => isOver(stage, 'sentinel'))
    const effects = (await stage.effects()).filter(({ job: label }) => label === 'J').length
    const { state } = await producer.call('look', job)
    const agrees =
      answer === 'cancelled' ? effects === 0 && state !== 'succeeded' : (state === 'succeeded') === (effects === 1)
    return {
      holds: agrees && effects <= 1,
      seen: `the answer to the cancel was “${answer}”; the effect was applied ${times(effects)}, the job is ${state}`,
    }
  },
}

export const FM_038 = {
  name: 'Starvation of a priority',
  story: 'a job of low priority waits while jobs of high priority keep coming',
  async play(stage, cast) {
    const policy = { batchSize: 5, leaseMs: 10_000 }
    const producer = await cast.actor('producer', { policy })
    const waiting = 60
    const most = waiting + 120 // of those that come later
    let sent = 0
    const feed = async (upTo) => {
      const missing = Math.max(0, upTo - sent)
      sent += missing
      const each = () => producer.call('enqueue', 'work', { label: 'high' }, { priority: 'high' })
      await Promise.all(Array.from({ length: missing }, each))
    }
    await feed(waiting)
    await producer.call('enqueue', 'work', { label: 'low' }, { priority: 'low' })
    const a = await cast.actor('A', { policy })
    await a.call('work', { work: ['takes:10'] })
    await stage.until('the low one, or 120 high ones that came later, have run', async () => {
      await feed(runsOf(stage, 'high') + waiting)
      return runsOf(stage, 'low') > 0 || runsOf(stage, 'high') >= most
    })
    const begun = runsOf(stage, 'low') > 0
    return {
      holds: begun,
      seen: begun
        ? `it ran after ${Math.max(0, runsOf(stage, 'high') - waiting)} jobs that came later`
        : `${most - waiting} jobs that came later were run, and it was not`,
    }
  },
}

export const FM_053 = {
  name: 'Outage read as death',
  story:
    'the server cannot be reached for longer than a lease, by anyone; the job has no retries and no losses to spare',
  async play(stage, cast) {
    const policy = { retries: 0, losses: 0, leaseMs: 2_000 }
    const proxy = await stage.proxy()
    const producer = await cast.actor('producer', { policy })
    const job = await producer.call('enqueue', 'work', { label: 'J' })
    const a = await cast.actor('A', { through: proxy, policy })
    await stage.beginsWith(a, { work: ['gate:A', 'effect'] })
    const b = await cast.actor('B', { through: proxy, policy })
    await b.call('work', { work: ['effect'] })
    proxy.goAway()
    await stage.within(cast.peer === 'pg-boss' ? 12_000 : 4_000, () => false)
    proxy.comeBack()
    await stage.within(4_000, async () => (await producer.call('look', job)).state === 'failed')
    stage.open('A')
    await stage.within(10_000, async () => (await producer.call('look', job)).state === 'succeeded')
    const { state } = await producer.call('look', job)
    const effects = (await stage.effects()).length
    return {
      holds: state === 'succeeded' && effects === 1,
      seen: `after the outage the job is ${state}, begun ${times(runsOf(stage, 'J'))}, applied ${times(effects)}`,
    }
  },
}
