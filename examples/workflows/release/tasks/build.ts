import { task } from 'fencepost'
import { z } from 'zod'

export const build = task('ci.build', {
  input: z.object({ version: z.string() }),
  run({ version }) {
    if (!/^\d+\.\d+\.\d+$/.test(version)) {
      throw Object.assign(new Error(`${version} is no version`), { code: 'BadVersion' })
    }
    return { image: `shop:${version}` }
  },
})
