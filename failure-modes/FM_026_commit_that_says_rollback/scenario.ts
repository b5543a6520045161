import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, step } from '../../src/lab/scenario.js'
import type { Queryable } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'

/**
 * An application that logs an error and goes on: PostgreSQL has aborted the transaction and answers COMMIT with
 * ROLLBACK. If it is told so, it does the right thing and sends the job again.
 */
async function swallowAnErrorAndCommit(actor: Actor): Promise<string> {
  const work = async (tx: Queryable) => {
    await enqueue(actor.db, actor.jobIds.map(labJob), tx)
    await tx.query('select 1/0').catch(() => {})
  }
  try {
    if (actor.naive) await actor.believeCommit(work)
    else await actor.db.transaction(work)
    return 'told that it is stored'
  } catch (error) {
    return `told ${(error as { code?: string }).code}; sends it again: ${await actor.enqueue()}`
  }
}

export default scenario({
  id: 'FM_026',
  name: 'COMMIT that says ROLLBACK',
  story: 'An error is swallowed inside a transaction; COMMIT answers ROLLBACK without an error, and nobody looks.',
  invariants: ['INV_010'],
  jobs: 1,
  steps: [step('application', 'enqueues, swallows an error, commits', swallowAnErrorAndCommit)],
  check: async (found) => {
    const told = found.notes.get('application: enqueues, swallows an error, commits') === 'told that it is stored'
    const stored = (await found.job()) !== undefined
    return [
      ...(told && !stored ? ['INV_010: the application was told that its job is stored, and it is not'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
