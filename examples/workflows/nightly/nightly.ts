import { workflow } from 'fencepost'
import { listCustomers, sendStatements, writeSummary } from './tasks.js'

export const nightly = workflow('nightly-statements', {
  description: 'Sends every customer of a region the statement of the day.',
  parameters: {
    region: { type: 'string', required: true },
    settle: { type: 'string', default: '10m' },
  },
  timeout: '6h',
  tasks: {
    list: {
      action: listCustomers,
      input: { region: '{{ parameters.region }}' },
      next: [{ when: '{{ succeeded() }}', do: 'send' }],
    },
    send: {
      action: sendStatements,
      withItems: '{{ tasks.list.result }}',
      batchSize: 3,
      concurrency: 2,
      onItemFailure: 'continue',
      input: { batch: '{{ index }}', customers: '{{ item }}' },
      retry: { count: 5, delay: '200ms', backoff: 'exponential', maxDelay: '5m', when: "{{ error.code == 'Busy' }}" },
      timeout: '2m',
      next: [{ when: '{{ succeeded() }}', do: 'settle' }],
    },
    settle: {
      action: 'core.sleep',
      input: { for: '{{ parameters.settle }}' },
      next: [{ do: 'summary' }],
    },
    summary: {
      action: writeSummary,
      input: {
        sent: "{{ tasks.send.items.map(i, i.status == 'succeeded', i.result.sent).sum() }}",
        problems: "{{ tasks.send.items.map(i, i.status != 'succeeded', i.error.message) }}",
      },
    },
  },
  output: '{{ tasks.summary.result }}',
})
