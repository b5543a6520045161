import { fencepost, task } from 'fencepost'
import { z } from 'zod'

let told: () => void
const secondHasStarted = new Promise<void>((resolve) => {
  told = resolve
})

const sync = task('sync', {
  input: z.object({ run: z.enum(['slow', 'quick']) }),
  gate: { key: 'sync', overrun: { after: '200ms', then: 'admit' } },
  async run(input) {
    if (input.run === 'quick') told()
    else await secondHasStarted
  },
})

const fp = await fencepost()
fp.on('overrun', ({ key }) => console.log(`${key} was held for too long`))
const slow = await fp.enqueue(sync, { run: 'slow' })
const quick = await fp.enqueue(sync, { run: 'quick' })
console.log('enqueued 2 jobs')

await fp.work([sync])
await Promise.all([slow.result({ timeout: '30s' }), quick.result({ timeout: '30s' })])
console.log('the slow one did not block the quick one')
await fp.close()
