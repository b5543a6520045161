import { task } from 'fencepost'
import { z } from 'zod'

export const report = task('ops.report', {
  input: z.object({ version: z.string(), problems: z.array(z.string()) }),
  run({ version, problems }) {
    const text = `${version} was not released: ${problems.join('; ')}`
    console.log(`to the team: ${text}`)
    return text
  },
})
