/** Works off what it finds, and tells how many bytes of old objects each job but the first has left behind. */
import { getHeapSpaceStatistics } from 'node:v8'
import { fencepost, task } from '../../../src/index.js'

const anything = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } }
const [url, first, last] = [process.argv[2] as string, Number(process.argv[3]), Number(process.argv[4])]
let [done, bytesBefore] = [0, 0]
const busy = task('busy', {
  input: anything,
  run: () => {
    if (++done === first) {
      // What is there now is old from now on: should it refer to what comes, that stays, too.
      for (let n = 0; n < 2; n++) gc?.({ type: 'minor' })
      bytesBefore = oldBytes()
    }
    if (done === last) console.log((oldBytes() - bytesBefore) / (last - first))
  },
})
const fp = await fencepost({ database: url, migrate: false })
fp.on('finished', () => {
  if (done === last) void fp.close()
})
await fp.work([busy], { concurrency: 100 })

function oldBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')?.space_used_size ?? 0
}
