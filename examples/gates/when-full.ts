import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const page = z.object({ page: z.string() })
const warmCache = task('warm-cache', {
  input: page,
  gate: { key: ({ page }) => `warm/${page}`, onFull: 'discard' },
  run: () => {},
})
const render = task('render', {
  input: page,
  gate: { key: ({ page }) => `render/${page}`, onFull: 'replace' },
  run: () => {},
})

const fp = await fencepost()
const home = { page: 'home' }

const warmed = await fp.enqueue(warmCache, home)
const again = await fp.enqueue(warmCache, home)
console.log(`${warmed.answer}, and once more: ${again.answer}`)

const [first, second, third] = [
  await fp.enqueue(render, home),
  await fp.enqueue(render, home),
  await fp.enqueue(render, home),
]

const later = await fp.transaction((tx) => fp.enqueue(warmCache, home, { tx }))
console.log(`in a transaction: ${later.answer}`)

await fp.work([warmCache, render])
await Promise.all([warmed, first, third].map((job) => job.result({ timeout: '30s' })))
for (const [name, { id }] of Object.entries({ second, later })) {
  const { outcome, reason } = await fp.job(id)
  console.log(`${name}: ${outcome} (${reason})`)
}
await fp.close()
