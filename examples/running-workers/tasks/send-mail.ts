import { setTimeout as pause } from 'node:timers/promises'
import { task } from 'fencepost'
import { z } from 'zod'

export const sendMail = task('send-mail', {
  queue: 'mail',
  input: z.object({ to: z.email(), seconds: z.number().default(1) }),
  async run({ to, seconds }, job) {
    await pause(seconds * 1_000, undefined, { signal: job.signal })
    return { sent: to }
  },
})
