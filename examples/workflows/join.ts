import { fencepost, task, workflow } from 'fencepost'
import { z } from 'zod'

const quote = task('quote', {
  input: z.object({ carrier: z.string() }),
  run: ({ carrier }) => ({ carrier, cents: carrier === 'snail' ? null : carrier.length * 100 }),
})
const offer = (carrier: string) =>
  ({
    action: quote,
    input: { carrier },
    next: [
      { when: '{{ result().cents != null }}', publish: { offers: '{{ vars.offers + [result()] }}' }, do: 'choose' },
    ],
  }) as const

const carriers = (join: number | 'all') =>
  workflow('carriers', {
    vars: { offers: [] },
    tasks: {
      fast: offer('fast'),
      faster: offer('faster'),
      snail: offer('snail'),
      choose: { join, action: 'core.echo', input: '{{ vars.offers.sortBy(o, o.cents)[0].carrier }}' },
    },
    output: { chosen: '{{ tasks.choose.result }}' },
  })

const fp = await fencepost()
await fp.work([quote])
for (const join of [2, 'all'] as const) {
  const run = await fp.workflows.start(carriers(join), {})
  console.log(`started ${run.id}, join: ${join}`)
  await run.result({ timeout: '30s' }).catch(() => {})
  const { state, output, error } = await fp.workflows.run(run.id)
  console.log(error ? `${state}: ${error.message}` : state, output)
}
await fp.close()
