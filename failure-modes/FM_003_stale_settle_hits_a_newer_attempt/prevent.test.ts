import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import type { Fence } from '../../src/job/places.js'
import type { Database } from '../../src/store/database.js'
import { extend, loseExpired, start } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { byJob } from '../../test/harness/answers.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_003: by the fence, the old attempt is stale and rolled back, and the newer one ends its own lease', async () => {
  const { prevent } = await bundleUnderTest('FM_003')

  const played = await prevent()

  expect(noteOf(played, 'A', 'wakes up and commits')).toBe('stale, rolled back')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(played.violations).toEqual([])
})

const sayings: [string, string, (db: Database, old: Fence) => Promise<readonly { answer: string }[]>][] = [
  ['finish', 'stale', (db, old) => finish(db, [{ ...old, resultText: '1' }])],
  ['fail', 'stale', (db, old) => fail(db, [{ ...old, errorText: '{}', delayMs: 0, final: true }])],
  ['release', 'stale', (db, old) => release(db, [old], 'shutdown')],
  ['park', 'stale', async (db, old) => [await park(db, old, 'approval', null)]],
  ['start', 'stale', (db, old) => start(db, [old])],
  ['extend', 'gone', (db, old) => extend(db, [old])],
]

it.each(sayings)(
  'FM_003: %s of the old lease is answered %s and does not touch the newer one',
  async (_, answer, say) => {
    const { db, add, take, advance, sql } = await setup()
    await add()
    const old = await take({ worker: 'A' })
    await advance(31_000)
    await loseExpired(db)
    const current = await take({ worker: 'B' })
    const lease = await sql('select * from fencepost.leased')

    expect(await say(db, old)).toMatchObject([{ answer }])

    expect(await sql('select * from fencepost.leased')).toEqual(lease)
    expect(await finish(db, [{ ...current, resultText: '2' }])).toMatchObject([{ answer: 'finished' }])
    expect(await sql('select worker, result from fencepost.finished')).toEqual([{ worker: 'B', result: 2 }])
    expect(await audit(db)).toMatchObject({ ok: true })
  },
)

it('FM_003: in a batch only the stale member is refused', async () => {
  const { db, add, take, advance, placesOf } = await setup()
  const [lost, live] = [await add(), await add()]
  const old = await take({ worker: 'A' })
  await advance(31_000)
  await loseExpired(db)
  await take({ worker: 'B' })
  const own = await take({ worker: 'A' })

  const answers = await finish(db, [
    { ...old, resultText: '1' },
    { ...own, resultText: '1' },
  ])

  expect(byJob(answers)).toEqual({ [lost]: 'stale', [live]: 'finished' })
  expect(await placesOf(lost)).toEqual(['leased'])
  expect(await placesOf(live)).toEqual(['finished'])
})
