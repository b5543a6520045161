import { fencepost } from 'fencepost'
import { nightly } from './nightly.js'

const fp = await fencepost()
await fp.work(nightly.tasks)

const run = await fp.workflows.start(nightly, { region: 'eu', settle: '1s' })
console.log(`started ${run.id}`)
console.log(await run.result({ timeout: '1m' }))

const { items } = await fp.workflows.taskResult(run.id, 'send')
for (const [batch, { status, result, error }] of (items ?? []).entries()) {
  console.log(`  batch ${batch}: ${status}`, result ?? (error as { message: string }).message)
}
await fp.close()
