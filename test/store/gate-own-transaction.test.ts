import { expect, it } from 'vitest'
import { cancel, retryEnded, wake } from '../../src/store/control.js'
import type { Queryable } from '../../src/store/database.js'
import { skip } from '../../src/store/gates.js'
import type { ClaimedLease } from '../../src/store/lease.js'
import { fail, finish, park } from '../../src/store/settle.js'
import { setupGates } from '../harness/gates.js'

type Gates = Awaited<ReturnType<typeof setupGates>>

/**
 * In a transaction of the caller's, which may stay open for long, the call locks no gate. Who may pass because of it is
 * found by the next turn after the commit.
 */
async function inTransaction(
  { connect, places, nudges, turn, sound }: Gates,
  waiter: string,
  call: (tx: Queryable) => Promise<unknown>,
): Promise<void> {
  const [tx, other] = [await connect(), await connect()]
  await tx.query('begin')

  await call(tx)

  await other.query('select 1 from fencepost.gate for update nowait')
  await tx.query('commit')
  expect(await places(waiter)).toEqual(['waiting'])
  expect(await nudges()).not.toEqual([])
  await turn()
  expect(await places(waiter)).toEqual(['ready'])
  await sound()
}

const takeOne = async ({ takeAll }: Gates) => (await takeAll())[0] as ClaimedLease

it('a cancel', async () => {
  const bundle = await setupGates()
  const [holder, waiter] = [await bundle.gated(), await bundle.gated()]

  await inTransaction(bundle, waiter, (tx) => cancel(bundle.db, [holder], null, tx))
})

it('a retry', async () => {
  const bundle = await setupGates()
  const id = await bundle.gated()
  await bundle.gated({ key: 'gate:other' }) // so that there is a gate to lock
  await cancel(bundle.db, [id], null)

  await inTransaction(bundle, id, (tx) => retryEnded(bundle.db, [id], tx))
})

it('a signal', async () => {
  const bundle = await setupGates()
  const id = await bundle.gated()
  await park(bundle.db, await takeOne(bundle), 'go', null)

  await inTransaction(bundle, id, (tx) => wake(bundle.db, id, 'go', 'null', tx))
})

it('a skip', async () => {
  const bundle = await setupGates()
  const [head, next] = [await bundle.gated({ key: 'fifo:k' }), await bundle.gated({ key: 'fifo:k' })]
  await fail(bundle.db, [{ ...(await takeOne(bundle)), errorText: '{}', delayMs: 60_000, final: false }])

  await inTransaction(bundle, next, (tx) => skip(bundle.db, head, tx))
})

it('a finish, and a fail', async () => {
  for (const settle of [finish, fail] as const) {
    const bundle = await setupGates()
    await bundle.gated()
    const waiter = await bundle.gated()
    const item = { ...(await takeOne(bundle)), resultText: 'null', errorText: '{}', delayMs: 0, final: true }

    await inTransaction(bundle, waiter, (tx) => settle(bundle.db, [item], tx))
  }
})
