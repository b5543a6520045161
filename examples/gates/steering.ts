import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task } from 'fencepost'
import { z } from 'zod'

let running = 0
let most = 0
const importFile = task('import-file', {
  input: z.object({ file: z.string() }),
  gate: { key: 'warehouse' },
  async run() {
    most = Math.max(most, ++running)
    await pause(50)
    running--
  },
})

const fp = await fencepost()
await fp.work([importFile])
await fp.pause({ gate: 'gate:warehouse' })
const inputs = ['a', 'b', 'c', 'd'].map((file) => ({ input: { file } }))
const jobs = await fp.enqueueMany(importFile, inputs)
console.log(`enqueued ${jobs.length} jobs`)

const { held, waiting } = await fp.gate('gate:warehouse')
console.log(`paused: ${held} held, ${waiting} wait`)

const before = await fp.setLimit('gate:warehouse', 2)
console.log(`the limit was ${before}, and is 2`)

await fp.resume({ gate: 'gate:warehouse' })
await Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))
console.log(`at most ${most} at a time`)

await fp.setLimit('gate:warehouse', null)
await fp.close()
