import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ToldLeases, type ToldLease } from '../../src/store/turn-lease.js'

const tasks = ['send', 'count']
const queues = [{ queue: 'mail' }, { queue: 'reports' }]

const few = fc.constantFrom(1, 2)
const policy = fc.constantFrom(null, { timeoutMs: 5 })
const own = fc.tuple(fc.uuid(), fc.nat(), fc.nat(), fc.nat(), fc.nat())
const terms = fc.tuple(few, few, few, few, few, fc.constantFrom<0 | 1>(0, 1))
const unusual = fc.option(fc.tuple(few, few, few, few, few, policy), { nil: [] as const })

it('reads of every lease what was told of it, whatever it shares with the one before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(own, terms, unusual)), (all) => {
      const leases = new ToldLeases(tasks, queues)
      for (const [[jobId, leaseId, nonce, payload, createdAtMs], common, rest] of all) {
        const [queue, task, leaseMs, leftMs, failuresMax, started] = common
        const [priority = 0, tries = 1, failures = 0, losses = 0, releases = 0, ruled = null] = rest
        const told = ['lease', queue, jobId, leaseId, nonce, task, payload, createdAtMs, leaseMs, leftMs, failuresMax]

        const lease = leases.read([...told, started, ...rest] as unknown as ToldLease)

        expect(lease).toMatchObject({ jobId, leaseId, nonce, payload, createdAtMs, leaseMs, leftMs, failuresMax })
        expect(lease).toMatchObject({ task: tasks[task - 1], ...queues[queue - 1] })
        expect(lease).toMatchObject({ priority, tries, failures, losses, releases })
        expect([lease.policy, lease.started]).toEqual([ruled, started === 1])
      }
    }),
  )
})
