// BullMQ by its own API, on a Redis of the play's own (appendonly). A task is a queue with a worker of its own.
import { FlowProducer, Queue, Worker } from 'bullmq'
import { shownOptions } from '../shown-options.js'

export async function open({ queue: prefix, redisPort, policy, setting }) {
  const connection = { host: '127.0.0.1', port: redisPort }
  const queues = new Map()
  let workers = []
  let rescuer

  const known = (name) => {
    if (!queues.has(name)) {
      const made = new Queue(name, { connection, prefix })
      made.on('error', () => {})
      queues.set(name, made)
    }
    return queues.get(name)
  }

  return {
    async enqueue(name, data, { key, priority, delayMs } = {}) {
      const options = {
        attempts: (policy.retries ?? 3) + 1,
        ...(policy.retryMs && { backoff: { type: 'fixed', delay: policy.retryMs } }),
        ...(key !== undefined && { jobId: key }),
        ...(priority !== undefined && { priority: priority === 'high' ? 1 : 10 }),
        ...(delayMs !== undefined && { delay: delayMs }),
        ...(policy.removeOnComplete && { removeOnComplete: true }),
      }
      setting(`add: ${shownOptions(options)}`)
      if (policy.limit) {
        await known(name).setGlobalConcurrency(policy.limit)
        setting(`setGlobalConcurrency(${policy.limit}): of a queue; by key it is a feature of the paid edition`)
      }
      const { id } = await known(name).add(name, data, options)
      return { task: name, id }
    },
    async work(programs, handle, { concurrency = 1 } = {}) {
      const options = {
        lockDuration: policy.leaseMs ?? 1_000,
        stalledInterval: policy.leaseMs ?? 1_000,
        maxStalledCount: policy.losses ?? 5,
        concurrency,
        drainDelay: 1,
      }
      setting(`worker: ${shownOptions(options)}`)
      workers = Object.keys(programs).map((name) => {
        const worker = new Worker(
          name,
          (job, _token, signal) =>
            handle({ id: job.id, task: name, data: job.data, attempt: job.attemptsStarted, signal }),
          { connection, prefix, ...options },
        )
        worker.on('error', () => {})
        return worker
      })
      await Promise.all(workers.map((worker) => worker.waitUntilReady()))
    },
    /** close() waits for the handlers for as long as they take; what has not ended then is left to the stalled check. */
    async stop({ graceMs = 1_000 } = {}) {
      setting(`close(), given up after ${graceMs} ms`)
      const over = new Promise((resolve) => setTimeout(resolve, graceMs))
      await Promise.race([Promise.all(workers.map((worker) => worker.close())), over])
    },
    async look({ task, id }) {
      const job = await known(task).getJob(id)
      if (!job) return { state: 'gone' }
      const is = await job.getState()
      const state = { completed: 'succeeded', active: 'running', failed: 'failed' }[is] ?? 'waiting'
      return { state, failures: job.attemptsMade, losses: job.stalledCounter }
    },
    async cancel({ task, id }) {
      setting('queue.remove()')
      return (await known(task).remove(id)) === 1 ? 'cancelled' : 'refused'
    },
    remove: ({ task, id }) => known(task).remove(id),
    async rerun({ task, id }) {
      setting('job.retry()')
      const job = await known(task).getJob(id)
      await job.retry()
    },
    /** Takes back what has stalled, and runs nothing. */
    async rescue({ task }) {
      if (rescuer) return
      const options = { autorun: false, stalledInterval: policy.leaseMs ?? 1_000, maxStalledCount: policy.losses ?? 5 }
      rescuer = new Worker(task, undefined, { connection, prefix, ...options })
      rescuer.on('error', () => {})
      await rescuer.startStalledCheckTimer()
      setting(`startStalledCheckTimer: ${shownOptions(options)}`)
    },
    async fanIn(children) {
      const flows = new FlowProducer({ connection, prefix })
      const opts = { attempts: (policy.retries ?? 3) + 1 }
      await flows.add({
        name: 'parent',
        queueName: 'parent',
        data: { label: 'parent' },
        opts,
        children: children.map((label) => ({ name: 'child', queueName: 'child', data: { label }, opts })),
      })
      await flows.close()
      setting('FlowProducer: a parent with children')
    },
  }
}
