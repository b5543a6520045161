import { fencepost, task, workflow } from 'fencepost'
import { z } from 'zod'

const collect = task('collect', {
  input: z.object({ sources: z.array(z.string()) }),
  run: ({ sources }) => sources.length,
})
const gather = workflow('gather', {
  tasks: {
    inspection: { waitFor: { signal: 'inspected' }, timeout: '7d', next: [{ do: 'opening' }] },
    opening: { waitFor: { time: '2020-01-01T08:00:00Z' }, next: [{ do: 'collect' }] },
    collect: { action: collect, input: { sources: '{{ tasks.inspection.result.sources }}' } },
  },
  output: '{{ tasks.collect.result }}',
})
const publish = workflow('publish', {
  parameters: { after: { type: 'string', required: true } },
  tasks: {
    gathered: { waitFor: { run: '{{ parameters.after }}' }, next: [{ when: '{{ succeeded() }}', do: 'confirm' }] },
    confirm: {
      waitFor: {
        approval: {
          title: 'Publish?',
          form: { approved: { type: 'boolean', required: true }, note: { type: 'string', default: 'none' } },
          expires: '2d',
        },
      },
    },
  },
  output: '{{ tasks.confirm.result }}',
})

const fp = await fencepost()
await fp.work([collect])
const gathering = await fp.workflows.start(gather, {})
const publishing = await fp.workflows.start(publish, { after: gathering.id })
console.log('started two runs')

await fp.workflows.signal(gathering.id, 'inspected', { sources: ['a', 'b'] })
await fp.workflows
  .answer(publishing.id, 'confirm', { approved: 'yes' })
  .catch((error: Error) => console.log(error.message))
await fp.workflows.answer(publishing.id, 'confirm', { approved: true })

console.log('gathered', await gathering.result({ timeout: '30s' }))
console.log('published', await publishing.result({ timeout: '30s' }))
await fp.close()
