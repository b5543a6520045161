import { task } from 'fencepost'
import { z } from 'zod'

export const scan = task('ci.scan', {
  input: z.object({ image: z.string() }),
  run: ({ image }) => ({ image, vulnerabilities: 0 }),
})
