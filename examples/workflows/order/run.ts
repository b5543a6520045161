import { join } from 'node:path'
import { fencepost, readWorkflowFile } from 'fencepost'
import * as tasks from './tasks.js'

const fp = await fencepost()
await fp.work(Object.values(tasks))
for (const name of ['shipping.yaml', 'order.yaml']) {
  await fp.workflows.deploy(await readWorkflowFile(join(import.meta.dirname, name)))
}

const orders = [
  { order: 'o-1', cents: 4_500 },
  { order: 'o-2', cents: 250_000, answer: { approved: true } },
  { order: 'o-3', cents: 250_000, answer: { approved: false, reason: 'unknown customer' } },
  { order: 'o-4', cents: 4_500 },
  { order: 'o-5', cents: 250_000, decide_within: '1s' }, // nobody will
]
for (const { answer, ...parameters } of orders) {
  const run = await fp.workflows.start('order', parameters)
  console.log(`started ${run.id}: ${parameters.order}`)

  // What the payment provider's webhook would do. It may come before anything waits for it: it is kept.
  await fp.workflows.signal(run.id, 'paid', { payment: `p-${parameters.order}` })
  // What a person does, with `fencepost workflow answer` or in a page of yours.
  if (answer) await fp.workflows.answer(run.id, 'approve', answer)

  console.log(await run.result({ timeout: '1m' }))
  const { taskRuns } = await fp.workflows.run(run.id)
  const ended = taskRuns.map(({ task, state }) => `${task} ${state}`)
  console.log(ended.toSorted().join(', '))
}
await fp.close()
