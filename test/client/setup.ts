import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Fencepost, type FencepostOptions, fencepost } from '../../src/client/fencepost.js'
import { task } from '../../src/task/task.js'
import { setup } from '../harness/setup.js'

/** A database of the test's own and a client on it. The schema is there already, from the template. */
export async function setupClient(options: FencepostOptions = {}) {
  const bundle = await setup()
  const fp = await open({ database: bundle.url, migrate: false, ...options })
  return { ...bundle, fp }
}

export async function open(options: FencepostOptions): Promise<Fencepost> {
  const fp = await fencepost(options)
  onTestFinished(() => fp.close())
  return fp
}

/** Answers twice its number. */
export const double = task('double', {
  input: z.object({ n: z.number() }),
  run: ({ n }) => n * 2,
})

/** Takes anything and fails at once. */
export const hopeless = task('hopeless', {
  input: z.unknown(),
  retry: { limit: 0 },
  run: () => {
    throw new Error('no hope')
  },
})

/** Takes anything. */
export const anything = task('anything', { input: z.unknown(), run: (input) => input })

/** How many rows each table holds: what must not change when a call is refused. */
export async function rowCounts(sql: (text: string) => Promise<Record<string, unknown>[]>) {
  const tables = [
    'job',
    'ready',
    'waiting',
    'delayed',
    'leased',
    'parked',
    'finished',
    'attempt',
    'signal',
    'gate',
    'nudge',
  ]
  const [counts] = await sql(
    `select ${tables.map((table) => `(select count(*) from fencepost.${table})::int as ${table}`).join(', ')}`,
  )
  return counts
}
