/**
 * What the database allows: connections that settle what they have claimed and claim again, by the same functions and in
 * the same batches as the product, and nothing else. No handlers, no leases to keep alive, nobody to tell.
 */
import { Database } from '../../../dist/src/store/database.js'
import { takeTurn } from '../../../dist/src/store/turn.js'
import { open as openFencepost } from './fencepost.js'

export async function open(given) {
  const fencepost = await openFencepost(given)
  return {
    ...fencepost,
    settings: 'two connections',
    async work({ batch }, handle) {
      const db = new Database({ url: given.url, schema: 'bench_fencepost', poolSize: 2 })
      await db.prepareMoves()
      let turn = 0
      const line = { stopping: false }
      const loop = async (worker) => {
        let leases = []
        while (!line.stopping || leases.length > 0) {
          const answer = await takeTurn(db, {
            worker,
            turn: ++turn,
            finish: leases.map(({ jobId, leaseId, nonce }) => ({ jobId, leaseId, nonce, resultText: 'null' })),
            fail: [],
            release: [],
            start: [],
            claim: line.stopping
              ? { queues: [], room: 0, suspect: false }
              : { queues: [{ queue: 'default', limit: batch, starts: batch }], room: batch, suspect: true },
            tasks: ['noop'],
          })
          for (const { payload } of leases) await handle(payload)
          leases = answer.leases
        }
      }
      const loops = [loop('raw 1'), loop('raw 2')]
      return {
        stop: async () => {
          line.stopping = true
          await Promise.all(loops)
          await db.close()
        },
      }
    },
  }
}
