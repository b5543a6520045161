import { setTimeout as pause } from 'node:timers/promises'
import { NonRetryable, task } from 'fencepost'
import { z } from 'zod'

export const deploy = task('ops.deploy', {
  input: z.object({ image: z.string(), region: z.string() }),
  async run({ image, region }, job) {
    await pause(50, undefined, { signal: job.signal })
    if (region === 'mars') throw new NonRetryable('there is no region mars')
    return { image, region }
  },
})
