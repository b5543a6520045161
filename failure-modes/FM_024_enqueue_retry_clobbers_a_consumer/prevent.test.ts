import { expect, it } from 'vitest'
import { type Send, sweepMessages } from '../../src/store/sqs-messages.js'
import { purgeQueue } from '../../src/store/sqs-queues.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { aGrouped, anEntry, setupSqs, stored } from '../../test/harness/sqs.js'

it('FM_024: with a ledger of sends, the retry is told the first ids, and consumers notice nothing', async () => {
  const { prevent } = await bundleUnderTest('FM_024')

  const played = await prevent()

  expect(noteOf(played, 'server 2', 'is sent the same batch: the client has heard nothing')).toBe('recorded #1, #2, #3')
  expect(noteOf(played, 'consumer 2', 'receives again')).toBe('nothing')
  expect(noteOf(played, 'consumer', 'is done with the second, and deletes it')).toBe('#2 deleted')
  expect(noteOf(played, 'operator', 'looks for dead letters')).toBe('#3 (2×)')
  expect(noteOf(played, 'operator', 'deletes them')).toBe('#3 deleted')
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBeUndefined()
  expect(played.violations).toEqual([])
})

const places = ['ready', 'waiting', 'leased', 'delayed', 'finished', 'attempt', 'job', 'gate', 'sqs_sent', 'sqs_dedup']

/** Every row, to the last byte, and which transaction wrote it. */
async function everything({ sql }: { sql: <Row>(text: string) => Promise<Row[]> }) {
  const rows = await Promise.all(
    places.map((place) => sql(`select xmin, t.* from fencepost.${place} t order by t::text`)),
  )
  return Object.fromEntries(places.map((place, n) => [place, rows[n]]))
}

const again = (entry: Send): Send => ({ ...entry, id: anEntry().id })
type Bundle = Awaited<ReturnType<typeof setupSqs>>

const standard: readonly [string, (bundle: Bundle, entry: Send) => Promise<unknown>][] = [
  ['waits to be received', async () => {}],
  ['is in flight', ({ receive }) => receive()],
  ['has been given more time', async ({ receive, change }) => change(600_000, ...(await receive()))],
  [
    'has run out of its time, and nobody has noticed',
    async ({ receive, advance }) => {
      await receive()
      await advance(31_000)
    },
  ],
  ['was given back', async ({ receive, change }) => change(0, ...(await receive()))],
  ['is deleted', async ({ receive, remove }) => remove(...(await receive()))],
  [
    'is a dead letter',
    async ({ receive, set, make }) => {
      await make('dead')
      await set({
        redrivePolicy: { deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead', maxReceiveCount: 1 },
      })
      await receive({ visibleMs: 0 })
      await receive()
    },
  ],
  ['is purged', ({ db }) => purgeQueue(db, 'q', 60_000)],
  [
    'has expired',
    async ({ db, set, advance }) => {
      await set({ messageRetentionPeriod: 60 })
      await advance(61_000)
      await sweepMessages(db, 600_000)
    },
  ],
  ['is in a queue whose delay was changed', ({ set }) => set({ delaySeconds: 100 })],
]

for (const [what, happens] of standard) {
  it(`FM_024: a message that ${what} is left as it is by the retry`, async () => {
    const bundle = await setupSqs()
    const entry = anEntry()
    await bundle.send(entry)
    await happens(bundle, entry)
    const before = await everything(bundle)

    expect(await bundle.send(again(entry))).toMatchObject([{ answer: 'recorded', messageId: entry.id }])

    expect(await everything(bundle)).toEqual(before)
  })
}

it('FM_024: a message that is delayed is due when it was', async () => {
  const bundle = await setupSqs({ delaySeconds: 100 })
  const entry = anEntry()
  await bundle.send(entry)
  await bundle.set({ delaySeconds: 0 })
  const before = await everything(bundle)

  expect(await bundle.send(again(entry))).toMatchObject([{ answer: 'recorded', messageId: entry.id }])

  expect(await everything(bundle)).toEqual(before)
})

it('FM_024: the messages of a group, its head in flight and the others behind it, are left as they are', async () => {
  const bundle = await setupSqs({}, 'q.fifo')
  const batch = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
  const first = await stored(bundle.send(...batch))
  await bundle.receive({ max: 1 })
  await bundle.advance(301_000) // longer than FIFO queues deduplicate: only the ledger knows
  const before = await everything(bundle)

  expect(await bundle.send(...batch.map(again))).toEqual(first.map((sent) => ({ ...sent, answer: 'recorded' })))

  expect(await everything(bundle)).toEqual(before)
})
