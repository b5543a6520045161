// pg-boss by its own API. Its settings are its shortest ones, and what its documentation offers for the case at hand.
import { PgBoss } from 'pg-boss'
import { shownOptions } from '../shown-options.js'
import { uuidOf } from '../uuid-of.js'

export async function open({ url, queue, policy, setting }) {
  const boss = new PgBoss({
    connectionString: url,
    schema: queue,
    max: 6,
    schedule: false,
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    maintenanceIntervalSeconds: 1,
    queueCacheIntervalSeconds: 1,
    flowIntervalSeconds: 1,
    ...(policy.notify && { useListenNotify: true }),
  })
  boss.on('error', () => {})
  await boss.start()
  const made = new Set()

  const known = async (name) => {
    if (made.has(name)) return
    const options = {
      retryLimit: policy.retries ?? 3,
      retryDelay: (policy.retryMs ?? 0) / 1000,
      ...(policy.heartbeat ? { heartbeatSeconds: 10 } : { expireInSeconds: (policy.leaseMs ?? 2_000) / 1000 }),
      ...(policy.limit === 1 && { policy: 'singleton' }),
      ...(policy.notify && { notify: true }),
      ...(policy.deadLetter && name === 'work' && { deadLetter: 'dead' }),
      ...(policy.retentionSeconds && { retentionSeconds: policy.retentionSeconds }),
    }
    if (options.deadLetter) await boss.createQueue('dead')
    await boss.createQueue(name, options)
    made.add(name)
    setting(`queue: ${shownOptions(options)}; supervised every second`)
  }

  return {
    async enqueue(name, data, { key, priority, delayMs } = {}) {
      await known(name)
      const options = {
        ...(key !== undefined && { id: uuidOf(key) }),
        ...(priority !== undefined && { priority: priority === 'high' ? 10 : 0 }),
        ...(delayMs !== undefined && { startAfter: delayMs / 1000 }),
        ...(policy.limit === 1 && { singletonKey: data.limitKey }),
        ...((policy.limit > 1 || policy.localGroup) && { group: { id: data.limitKey } }),
      }
      if (Object.keys(options).length > 0) setting(`send: ${Object.keys(options).join(', ')}`)
      return { task: name, id: await boss.send(name, data, options) }
    },
    async work(programs, handle, { concurrency = 1 } = {}) {
      const transactional = policy.transactional ?? true
      for (const name of Object.keys(programs)) {
        await known(name)
        const options = {
          pollingIntervalSeconds: 0.5,
          localConcurrency: concurrency,
          ...(transactional && { transactional: true }),
          ...(policy.limit > 1 && { groupConcurrency: policy.limit }),
          ...(policy.batchSize && { batchSize: policy.batchSize }),
          ...(policy.localGroup && { localGroupConcurrency: policy.localGroup }),
          ...(policy.notify && { notifyPollingIntervalSeconds: 5 }),
        }
        setting(`work: ${shownOptions(options)}`)
        await boss.work(name, options, async (jobs, tx) => {
          for (const job of jobs) {
            await handle({
              id: job.id,
              task: name,
              data: job.data,
              attempt: job.retryCount + 1,
              signal: job.signal,
              ...(tx && { commit: (write) => write((text, values) => tx.executeSql(text, values)) }),
            })
          }
        })
      }
    },
    stop: ({ graceMs = 1_000 } = {}) => {
      setting(`stop: graceful, timeout ${graceMs} ms`)
      return boss.stop({ graceful: true, timeout: graceMs })
    },
    async look({ task, id }) {
      const [job] = await boss.findJobs(task, { id })
      if (!job) return { state: 'gone' }
      const state = { created: 'waiting', retry: 'waiting', active: 'running', completed: 'succeeded' }[job.state]
      return { state: state ?? job.state, failures: job.retryCount }
    },
    async cancel({ task, id }) {
      const { affected } = await boss.cancel(task, id)
      return affected > 0 ? 'cancelled' : 'refused'
    },
    async rerun() {
      setting('redrive of the dead letter queue')
      return boss.redrive('dead')
    },
    remove: ({ task, id }) => boss.deleteJob(task, id),
    rescue: ({ task }) => boss.supervise(task),
    cleanUp: ({ task }) => boss.supervise(task),
    async fanIn(children) {
      await known('child')
      await known('parent')
      await boss.flow([
        ...children.map((label) => ({ ref: label, name: 'child', data: { label } })),
        { ref: 'parent', name: 'parent', data: { label: 'parent' }, dependsOn: children },
      ])
      setting('flow(): a job that dependsOn all others; flowIntervalSeconds 1')
    },
    /** As a worker does that fetches by hand, in a transaction of its own, which `commitFetch` ends. */
    async beginFetch(name, batchSize) {
      await known(name)
      const { default: pg } = await import('pg')
      this.tx = new pg.Client({ connectionString: url })
      await this.tx.connect()
      await this.tx.query('begin')
      const db = { executeSql: (text, values) => this.tx.query(text, values) }
      setting(`fetch in a transaction: groupConcurrency ${policy.limit}`)
      const jobs = await boss.fetch(name, { batchSize, groupConcurrency: policy.limit, db })
      return jobs.length
    },
    async commitFetch() {
      await this.tx.query('commit')
      await this.tx.end()
    },
  }
}
