import { expect } from 'vitest'
import type { Lease } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { Session } from './session.js'
import type { setup } from './setup.js'

/**
 * Takes a lease of which, before it ends, a transaction that began before it has already said something: to that one it
 * looked gone.
 */
export async function takeSpokenOf(bundle: Awaited<ReturnType<typeof setup>>): Promise<Lease> {
  const caller = await Session.open(bundle)
  await caller.begin('repeatable read')
  await caller.query('select 1')
  const lease = await bundle.take()
  expect(await finish(caller, [{ ...lease, resultText: '"early"' }])).toMatchObject([{ answer: 'stale' }])
  await caller.commit()
  return lease
}
