import { expect } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type ClaimedLease, claim } from '../../src/store/lease.js'
import type { Turn } from '../../src/store/turn.js'
import { takeTurn } from '../../src/store/turn.js'
import type { StoredGate } from '../../src/task/gate.js'
import { setup } from './setup.js'

/** The gates of a job, as JSON text. */
export function gates(...given: (Partial<StoredGate> & { key: string })[]): string {
  return JSON.stringify(given.map((gate) => ({ limit: 1, onFull: 'wait', ...gate })))
}

/** Short words for what tests of gates do most. */
export async function setupGates() {
  const bundle = await setup()
  const { db, sql, add } = bundle
  let turns = 0
  const emptyTurn = (worker = 'w1'): Turn => ({
    worker,
    turn: ++turns,
    finish: [],
    fail: [],
    release: [],
    start: [],
    claim: { queues: [], room: 0, suspect: false },
    tasks: [],
  })
  return {
    ...bundle,
    /** Stores a job behind a gate (`gate:k`, limit 1, unless told otherwise). */
    gated: (gate: Partial<StoredGate> = {}, job: Parameters<typeof add>[0] = {}) =>
      add({ gatesText: gates({ key: 'gate:k', ...gate }), ...job }),
    /** Leases all that can be leased. */
    takeAll: (queue = 'default', worker = 'w1'): Promise<ClaimedLease[]> => claim(db, { queue, limit: 1_000, worker }),
    /** A turn of a worker that has nothing to say: it heeds the nudges. */
    turn: (worker?: string) => takeTurn(db, emptyTurn(worker)),
    emptyTurn,
    gate: async (key = 'gate:k') =>
      (
        await sql<{ held: number; paused_at: Date | null; declared_limit: number; disputed_by: string | null }>(
          'select * from fencepost.gate where key = $1',
          [key],
        )
      )[0],
    places: async (...ids: string[]) =>
      Promise.all(ids.map(async (id) => (await bundle.see(id))?.outcome ?? (await bundle.see(id))?.place)),
    nudges: async () =>
      (await sql<{ key: string }>('select key from fencepost.nudge order by key')).map(({ key }) => key),
    /** Every invariant holds. */
    sound: async () => expect((await audit(db)).findings).toEqual([]),
  }
}
