// Two workers and one job: the first loses its right to it, and goes on.
import { times } from './counting.js'

/** A has a job and gives no sign of life; B takes the job over and ends it; A wakes and goes on. */
async function takenOver(stage, cast, { programA, programB, sleepsBy }) {
  const producer = await cast.actor('producer')
  const job = await producer.call('enqueue', 'work', { label: 'J' })
  const a = await cast.actor('A')
  await stage.beginsWith(a, { work: programA })
  if (sleepsBy === 'SIGSTOP') a.stop()
  const b = await cast.laterActor('B')
  await b.call('work', { work: programB })
  await stage.until('B takes the job over', () => stage.began('B').length === 1)
  return { producer, job, a, b }
}

/** A has heard of all that came of its first job when it has done another one. */
async function anotherJobOf(stage, producer, actor) {
  const sentinel = await producer.call('enqueue', 'work', { label: 'sentinel' })
  await stage.until(`${actor.name} runs another job`, () =>
    stage.told('ended', actor.name).some(({ data }) => data.label === 'sentinel'),
  )
  await stage.until('that job ends', async () => (await producer.call('look', sentinel)).state === 'succeeded')
}

const effectsOf = async (stage, label) => (await stage.effects()).filter(({ job }) => job === label).length

async function bothApply(stage, cast, sleepsBy) {
  const waits = sleepsBy === 'SIGSTOP' ? 'gate:A' : 'blocked:A'
  const { producer, job, a, b } = await takenOver(stage, cast, {
    programA: [waits, 'effect'],
    programB: ['effect'],
    sleepsBy,
  })
  await stage.until('B ends the job', async () => (await producer.call('look', job)).state === 'succeeded')
  await b.kill()
  stage.open('A')
  if (sleepsBy === 'SIGSTOP') a.goOn()
  await anotherJobOf(stage, producer, a)
  const effects = await effectsOf(stage, 'J')
  const { state } = await producer.call('look', job)
  return {
    holds: effects === 1 && state === 'succeeded',
    seen: `2 attempts ran to their end, the effect was applied ${times(effects)}`,
  }
}

export const FM_001 = {
  name: 'Duplicate execution caused by retry after timeout',
  story: 'A’s handler keeps its process busy past the lease; B runs the job and applies its effect; then A does',
  play: (stage, cast) => bothApply(stage, cast, 'blocked'),
}

export const FM_002 = {
  name: 'Stale settle after the end',
  story: 'attempt 1 stalls; attempt 2 succeeds; attempt 1 fails',
  async play(stage, cast) {
    const { producer, job, a, b } = await takenOver(stage, cast, {
      programA: ['blocked:A', 'failOnce'],
      programB: ['effect'],
    })
    await stage.until('B ends the job', async () => (await producer.call('look', job)).state === 'succeeded')
    await b.kill()
    stage.open('A')
    await anotherJobOf(stage, producer, a)
    const { state } = await producer.call('look', job)
    const runs = stage.began().filter(({ data }) => data.label === 'J').length
    return {
      holds: state === 'succeeded' && runs === 2,
      seen: `after the late failure the job is ${state}, and was begun ${times(runs)}`,
    }
  },
}

/** The late word of an attempt that was lost comes while a newer one runs, which then fails: it has to be tried again. */
async function lateWord(stage, { producer, job, a }) {
  stage.open('A')
  await anotherJobOf(stage, producer, a)
  // What is tried again is tried by B, whose handler then applies the effect.
  await a.kill()
  const { state } = await producer.call('look', job)
  stage.open('B')
  const done = await stage.within(15_000, async () => (await effectsOf(stage, 'J')) === 1)
  return {
    holds: state === 'running' && done,
    seen: `after the late success the job is ${state === 'running' ? 'still running' : state === 'succeeded' ? 'no longer there as running' : state}; the newer attempt then failed and was ${done ? 'tried again' : 'not tried again: the work is lost'}`,
  }
}

export const FM_003 = {
  name: 'Stale settle hits a newer attempt',
  story: 'attempt 1 stalls and is lost; attempt 2 runs; attempt 1 succeeds; attempt 2 fails and has to be tried again',
  async play(stage, cast) {
    const scene = await takenOver(stage, cast, {
      programA: ['blocked:A'],
      programB: ['gate:B', 'failOnce', 'effect'],
    })
    return lateWord(stage, scene)
  },
}

/** A's attempt is lost and taken back by someone who does not run it. */
async function rescued(stage, cast, programA, options = {}) {
  const producer = await cast.actor('producer')
  const job = await producer.call('enqueue', 'work', { label: 'J' }, options)
  const a = await cast.actor('A')
  await stage.beginsWith(a, { work: programA })
  const rescuer = await cast.laterActor('rescuer')
  await rescuer.call('work', { other: [] })
  await stage.until('the job is taken back', async () => {
    await rescuer.call('rescue', job)
    return (await producer.call('look', job)).state === 'waiting'
  })
  return { producer, job, a }
}

export const FM_005 = {
  name: 'Transactional completion without a fence',
  story: 'A’s attempt is lost and taken back; then A completes it in the transaction of its effect; the job runs again',
  async play(stage, cast) {
    const { producer, job, a } = await rescued(stage, cast, ['blocked:A', 'effect'])
    stage.open('A')
    await stage.until('the job ends', async () => (await producer.call('look', job)).state === 'succeeded')
    await anotherJobOf(stage, producer, a)
    const effects = await effectsOf(stage, 'J')
    const runs = stage.began().filter(({ data }) => data.label === 'J').length
    return {
      holds: effects === 1 && runs === 2,
      seen: `begun ${times(runs)}, the effect was applied ${times(effects)}`,
    }
  },
}

export const FM_006 = {
  name: 'Fence reused',
  story:
    'A’s attempt is lost; the job is deleted and sent again with its id; B runs it; A’s late success arrives; B fails',
  async play(stage, cast) {
    const { producer, job, a } = await rescued(stage, cast, ['blocked:A'], { key: 'same' })
    await producer.call('remove', job)
    await producer.call('enqueue', 'work', { label: 'J' }, { key: 'same' })
    const b = await cast.actor('B')
    await b.call('work', { work: ['gate:B', 'failOnce', 'effect'] })
    await stage.until('B begins', () => stage.began('B').length === 1)
    return lateWord(stage, { producer, job, a })
  },
}

export const FM_027 = {
  name: 'Zombie worker: paused, declared dead, resumed',
  story: 'A is stopped (SIGSTOP) past its lease; B runs the job and applies its effect; A goes on (SIGCONT)',
  play: (stage, cast) => bothApply(stage, cast, 'SIGSTOP'),
}
