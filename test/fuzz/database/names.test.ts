import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { audit } from '../../../src/audit/audit.js'
import { type Fencepost, type JobContext, task, workflow } from '../../../src/index.js'
import { claim } from '../../../src/store/lease.js'
import { listWorkers } from '../../../src/store/read.js'
import { registerServer, retireServer } from '../../../src/store/sqs-servers.js'
import { awake, fallAsleep, registerWorker, retireWorker } from '../../../src/store/worker.js'
import { setupClient } from '../../client/setup.js'
import { hostileTexts, hostileValue, runs, seed } from '../hostile.js'

/** Names that pass: short enough, and without control characters. */
const names = hostileTexts.filter(
  (text) => text.trim() !== '' && text.length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text),
)

/** What there is in the schema: an injection would change it. */
async function objectsOf(sql: (text: string) => Promise<unknown[]>) {
  return sql(
    `select (select count(*) from pg_class where relnamespace = 'fencepost'::regnamespace)::int as relations,
            (select count(*) from pg_proc where pronamespace = 'fencepost'::regnamespace)::int as functions`,
  )
}

async function settledAll(fp: Fencepost, jobs: readonly { readonly id: string }[]) {
  return Promise.all(jobs.map(({ id }) => fp.result(id, { timeout: '20s' })))
}

it('every name that is taken for a task, a queue, a gate, a group, a step or a signal goes all the way', async () => {
  const { fp, sql, db } = await setupClient()
  const before = await objectsOf(sql)
  const input = z.object({ name: z.string() })
  const tasks = names.map((name) =>
    task(name, {
      input,
      queue: name,
      gate: { key: ({ name: key }) => key, limit: 2 },
      group: { id: ({ name: id }) => id, tier: ({ name: tier }) => tier, limit: { default: 2 } },
      run: async (given: { name: string }, job: JobContext) => {
        const said = await job.step(given.name, () => given.name)
        return { said, heard: await job.waitFor(given.name) }
      },
    }),
  )
  const jobs = await Promise.all(
    tasks.map(async (each) => {
      const job = await fp.enqueue(each, { name: each.name })
      await fp.signal(job.id, each.name, { [each.name]: each.name })
      return job
    }),
  )
  for (const name of names) {
    await fp.setLimit(`gate:${name}`, 3)
    for (const what of [{ queue: name }, { task: name }, { gate: `gate:${name}` }]) {
      expect(await fp.pause(what)).toEqual({ answer: 'paused' })
      expect(await fp.resume(what)).toEqual({ answer: 'resumed' })
    }
  }
  await fp.work(tasks, { queues: Object.fromEntries(names.map((name) => [name, 2])), poll: '50ms' })
  expect(await settledAll(fp, jobs)).toEqual(
    names.map((name) => ({ said: name, heard: JSON.parse(JSON.stringify({ [name]: name })) as unknown })),
  )
  expect(new Set((await fp.queues()).map(({ queue }) => queue))).toEqual(new Set(names))
  expect(await objectsOf(sql)).toEqual(before)
  expect((await audit(db)).findings).toEqual([])
})

it('every name that is taken for a task, a parameter, a field or a signal of a workflow goes all the way', async () => {
  const { fp, db } = await setupClient()
  const own = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']
  const runsOf = await Promise.all(
    own.map(async (name) => {
      const made = workflow(name, {
        parameters: Object.fromEntries([[name, { type: 'string' as const }]]),
        vars: Object.fromEntries([[name, `{{ parameters.${name} }}`]]),
        tasks: Object.fromEntries([
          [name, { waitFor: { signal: name }, next: [{ do: `${name}_` }] }],
          [
            `${name}_`,
            { waitFor: { approval: { title: 'a', form: Object.fromEntries([[name, 'string' as const]]) } } },
          ],
        ]),
        output: { var: `{{ vars.${name} }}`, field: `{{ tasks.${name}_.result.${name} }}` },
      })
      const run = await fp.workflows.start(made, Object.fromEntries([[name, 'given']]))
      // Both before anything waits for them: kept under their names.
      await fp.workflows.answer(run.id, `${name}_`, Object.fromEntries([[name, 'answered']]))
      for (const text of names.filter((each) => each !== name)) await fp.workflows.signal(run.id, text, text)
      await fp.workflows.signal(run.id, name, 1)
      return run
    }),
  )
  await fp.work([task('anything', { input: z.unknown(), run: () => 1 })], { poll: '50ms' })
  expect(await Promise.all(runsOf.map((run) => run.result({ timeout: '20s' })))).toEqual(
    own.map(() => ({ var: 'given', field: 'answered' })),
  )
  expect((await audit(db)).findings).toEqual([])
})

it('a worker, or a server, may have any name', async () => {
  const { db, sql, add } = await setupClient()
  const before = await objectsOf(sql)
  for (const name of names) {
    await add({ queue: name })
    const card = { id: name, pid: 1, host: name, version: name, queues: { [name]: 1 }, tasks: [name] }
    await registerWorker(db, card)
    await fallAsleep(db, name, [name]) // a row that asks for notices: nobody waits
    await awake(db, name, [name])
    expect(await claim(db, { queue: name, limit: 1, worker: name })).toHaveLength(1)
    expect(await listWorkers(db)).toContainEqual(expect.objectContaining({ id: name, host: name }))
    await retireWorker(db, name)
    expect(await registerServer(db, name, 'on', 60_000)).toEqual([])
    await retireServer(db, name)
  }
  expect(await objectsOf(sql)).toEqual(before)
})

it(`whatever a handler says, returns or throws, its job ends (seed ${seed})`, async () => {
  const { fp, db, sql } = await setupClient()
  const wild: unknown[] = []
  const hostile = task('hostile', {
    input: z.number(),
    retry: { limit: 0 },
    run: async (n, job) => {
      const [how, value] = wild[n] as [string, never]
      switch (how) {
        case 'returns':
          return value
        case 'throws':
          throw value
        case 'throws an error of':
          throw Object.assign(new Error('a'), { name: value, message: value, code: value, stack: value, cause: value })
        case 'makes a step of':
          return job.step(value, () => value)
        case 'sleeps':
          return job.sleep(value, value) // parks its job, or is refused: no worker waits
        case 'waits':
          return job.waitFor('a', value)
        default:
          return job.commit(async () => value)
      }
    },
  })
  const hows = ['returns', 'throws', 'throws an error of', 'makes a step of', 'sleeps', 'waits', 'commits']
  const sample = fc.sample(fc.tuple(fc.constantFrom(...hows), hostileValue), runs(150))
  wild.push(...sample)
  const jobs = await fp.enqueueMany(
    hostile,
    sample.map((_, n) => ({ input: n })),
  )
  await fp.work([hostile], { poll: '50ms' })
  const settled = () =>
    sql<{ n: number }>(
      'select ((select count(*) from fencepost.finished) + (select count(*) from fencepost.parked))::int as n',
    )
  await expect.poll(settled, { timeout: 20_000 }).toEqual([{ n: jobs.length }])
  expect((await audit(db)).findings).toEqual([])
})
