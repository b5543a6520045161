// Fencepost through its built package, as a user has it.
import { fencepost, readWorkflowText, task } from '../../../../dist/src/index.js'
import { shownOptions } from '../shown-options.js'
import { uuidOf } from '../uuid-of.js'

const anything = { '~standard': { version: 1, vendor: 'plays', validate: (value) => ({ value }) } }

export async function open({ url, queue, policy, setting }) {
  const fp = await fencepost({ database: url, schema: queue, poolSize: 6 })
  let working
  const tasks = new Map()

  const defined = (name, run = () => undefined) => {
    const options = {
      lease: policy.leaseMs ?? 1_000,
      retry: { limit: policy.retries ?? 3, backoff: 'fixed', delay: policy.retryMs ?? 0, jitter: 0 },
      losses: policy.losses ?? 5,
      timeout: false,
      ...(policy.limit && { gate: { key: (input) => input.limitKey, limit: policy.limit } }),
    }
    setting(
      `task: ${shownOptions({ ...options, ...(policy.limit && { gate: { key: 'of the input', limit: policy.limit } }) })}`,
    )
    // What must not be taken by a worker of another task has a queue of its own, as it has with the peers.
    return task(name, { input: anything, queue: name, ...options, run })
  }
  const known = (name) => {
    if (!tasks.has(name)) tasks.set(name, defined(name))
    return tasks.get(name)
  }

  return {
    async enqueue(name, data, { key, priority, delayMs } = {}) {
      const options = {
        ...(key !== undefined && { id: uuidOf(key) }),
        ...(priority !== undefined && { priority: priority === 'high' ? -10 : 10 }),
        ...(delayMs !== undefined && { delay: delayMs }),
      }
      if (Object.keys(options).length > 0) setting(`enqueue: ${Object.keys(options).join(', ')}`)
      const { id } = await fp.enqueue(known(name), data, options)
      return { task: name, id }
    },
    async work(programs, handle, { concurrency = 1, graceMs = 1_000 } = {}) {
      const list = Object.keys(programs).map((name) =>
        defined(name, async (data, job) => {
          await handle({
            id: job.id,
            task: name,
            data,
            attempt: job.attempt,
            signal: job.signal,
            commit: (write) => job.commit((tx) => write((text, values) => tx.query(text, values))),
          })
        }),
      )
      working = fp.work(list, { concurrency, grace: graceMs, poll: 200 })
      await working
      setting(`work: concurrency ${concurrency}, poll 200 ms, grace ${graceMs} ms; effects in job.commit`)
    },
    // The process may be told to stop before work() has answered.
    stop: async () => (await working).stop(),
    async look({ id }) {
      const job = await fp.job(id)
      const state = job.outcome ?? { leased: 'running' }[job.place] ?? 'waiting'
      return { state, failures: job.failures, losses: job.losses, releases: job.releases }
    },
    async cancel({ id }) {
      const { answer } = await fp.cancel(id)
      return answer
    },
    rerun: ({ id }) => fp.retry(id),
    /** Nothing to do: a worker of any task takes back what has run out. */
    rescue: async () => {},
    async fanIn(children) {
      const text = `
        name: fan-in
        parameters: { children: { type: array, required: true } }
        tasks:
          - name: each
            action: child
            with_items: "{{ parameters.children }}"
            input: { label: "{{ item }}" }
            next: [{ when: "{{ succeeded() }}", do: after }]
          - name: after
            action: parent
            input: { label: parent }
      `
      // A workflow can be started when some worker has told that it has the actions.
      const deployer = await fp.work([known('child'), known('parent')])
      await deployer.stop()
      await fp.workflows.deploy(readWorkflowText(text))
      await fp.workflows.start('fan-in', { children })
      setting('a workflow: with_items, then a task when all have succeeded')
    },
  }
}
