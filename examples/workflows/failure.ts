import { fencepost, NonRetryable, task, workflow } from 'fencepost'
import { z } from 'zod'

const parse = task('parse', {
  input: z.object({ file: z.string() }),
  run({ file }) {
    if (file.endsWith('.exe')) throw Object.assign(new NonRetryable(`${file} is no table`), { code: 'NoTable' })
    if (file.startsWith('~')) throw new NonRetryable(`${file} is locked`)
    return { rows: file.length }
  },
})
const quarantine = task('quarantine', {
  input: z.object({ file: z.string(), why: z.string() }),
  run: ({ file }) => `quarantine/${file}`,
})

const importFile = workflow('import-file', {
  parameters: { file: { type: 'string', required: true } },
  vars: { rows: null },
  tasks: {
    parse: {
      action: parse,
      input: { file: '{{ parameters.file }}' },
      next: [
        { when: '{{ succeeded() }}', publish: { rows: '{{ result().rows }}' } },
        { when: "{{ failed() && error.code == 'NoTable' }}", do: 'quarantine' },
      ],
    },
    quarantine: {
      action: quarantine,
      input: { file: '{{ parameters.file }}', why: '{{ tasks.parse.error.message }}' },
    },
  },
  output: { rows: '{{ vars.rows }}', moved: '{{ default(tasks.quarantine.result, null) }}' },
})

const fp = await fencepost()
await fp.work(importFile.tasks)
for (const file of ['prices.csv', 'game.exe', '~prices.csv']) {
  const run = await fp.workflows.start(importFile, { file })
  console.log(`started ${run.id}: ${file}`)
  await run.result({ timeout: '30s' }).catch(() => {})
  const { state, output, error } = await fp.workflows.run(run.id)
  console.log(error ? `${state}: ${error.message}` : state, output)
}
await fp.close()
