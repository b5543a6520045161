import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task, workflow } from 'fencepost'
import { z } from 'zod'

let mended = false
const migrateTenant = task('migrate-tenant', {
  input: z.object({ tenant: z.string() }),
  retry: { limit: 0 },
  async run({ tenant }, job) {
    await pause(50, undefined, { signal: job.signal })
    if (tenant === 'acme' && !mended) throw new Error('acme has a row that does not fit')
    return `${tenant}, attempt ${job.attempt}`
  },
})
const migrate = workflow('migrate', {
  parameters: { tenants: { type: 'array', required: true } },
  tasks: {
    go: { waitFor: { signal: 'go' }, next: [{ do: 'each' }] },
    each: {
      action: migrateTenant,
      withItems: '{{ parameters.tenants }}',
      input: { tenant: '{{ item }}' },
    },
  },
  output: '{{ tasks.each.result }}',
})

const fp = await fencepost()
await fp.work([migrateTenant])
const run = await fp.workflows.start(migrate, { tenants: ['initech', 'acme', 'globex'] })
console.log(`started ${run.id}`)

console.log((await fp.workflows.pause(run.id)).answer)
await fp.workflows.signal(run.id, 'go') // is kept
console.log((await fp.workflows.resume(run.id)).answer)
await run.result({ timeout: '30s' }).catch(() => {})
console.log((await fp.workflows.run(run.id)).error?.message)

mended = true
await fp.workflows.rerun(run.id, { from: 'each' })
console.log(await run.result({ timeout: '30s' }))

const second = await fp.workflows.start(migrate, { tenants: ['initech'] })
console.log((await fp.workflows.cancel(second.id, { reason: 'the window is over' })).answer)
await second.result({ timeout: '30s' }).catch(() => {})
const { state, error } = await fp.workflows.run(second.id)
console.log(`${state}: ${error?.message}`)
await fp.close()
