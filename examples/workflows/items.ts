import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task, workflow } from 'fencepost'
import { z } from 'zod'

const backUp = task('back-up', {
  input: z.object({ host: z.string(), disk: z.string() }),
  async run({ host, disk }, job) {
    if (host === 'db' && job.attempt < 3) throw Object.assign(new Error('the disk is busy'), { code: 'Busy' })
    if (host === 'old') throw Object.assign(new Error('there is no such host'), { code: 'NoHost' })
    if (host === 'slow') await pause(60_000, undefined, { signal: job.signal })
    return `${host}:${disk}`
  },
})

const backUps = workflow('back-ups', {
  parameters: { hosts: { type: 'array', required: true }, disks: { type: 'array', required: true } },
  tasks: {
    each: {
      action: backUp,
      withItems: { host: '{{ parameters.hosts }}', disk: '{{ parameters.disks }}' },
      concurrency: 2,
      onItemFailure: 'continue',
      input: { host: '{{ item.host }}', disk: '{{ item.disk }}' },
      retry: { count: 3, delay: '10ms', backoff: 'fixed', when: "{{ error.code == 'Busy' }}" },
      timeout: '300ms',
    },
  },
  output: {
    made: '{{ tasks.each.result }}',
    missing: "{{ size(tasks.each.items.filter(i, i.status != 'succeeded')) }}",
  },
})

const fp = await fencepost()
await fp.work([backUp])
const run = await fp.workflows.start(backUps, {
  hosts: ['web', 'db', 'old', 'slow', 'mail'],
  disks: ['sda', 'sdb', 'sda', 'sda', 'sdc'],
})
console.log(`started ${run.id}`)
console.log(await run.result({ timeout: '30s' }))

const { items } = await fp.workflows.taskResult(run.id, 'each')
console.log(items?.map(({ status }) => status).join(', '))
await fp.close()
