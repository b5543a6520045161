import { randomUUID } from 'node:crypto'
import { fencepost, task, workflow } from 'fencepost'
import { z } from 'zod'

const sendMail = task('send-mail', {
  input: z.object({ to: z.string() }),
  run: ({ to }) => `mail to ${to}`,
})
const welcome = workflow('welcome', {
  parameters: { mail: { type: 'string', required: true } },
  tasks: { greet: { action: sendMail, input: { to: '{{ parameters.mail }}' } } },
  output: '{{ tasks.greet.result }}',
})

const fp = await fencepost()
await fp.work([sendMail])

const id = randomUUID() // in your own table, say, before the first try
const first = await fp.workflows.start(welcome, { mail: 'ada@example.org' }, { id })
const again = await fp.workflows.start(welcome, { mail: 'ada@example.org' }, { id })
console.log(`started ${id}: ${first.answer}, and once more: ${again.answer}`)

const run = await fp.transaction(async (tx) => {
  await tx.query('create table if not exists customer (mail text)')
  await tx.query('insert into customer values ($1)', ['grace@example.org'])
  return fp.workflows.start(welcome, { mail: 'grace@example.org' }, { tx })
})
console.log(await first.result({ timeout: '30s' }))
console.log(await run.result({ timeout: '30s' }))
await fp.close()
