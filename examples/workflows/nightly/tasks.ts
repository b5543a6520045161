import { task } from 'fencepost'
import { z } from 'zod'

const customer = z.object({ name: z.string(), mail: z.string().nullable() })

export const listCustomers = task('list-customers', {
  input: z.object({ region: z.string() }),
  run: ({ region }) =>
    ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gil'].map((name) => ({
      name,
      mail: name === 'eve' ? null : `${name}@${region}.example.org`,
    })),
})

export const sendStatements = task('send-statements', {
  input: z.object({ batch: z.number(), customers: z.array(customer) }),
  run({ batch, customers }, job) {
    if (batch === 0 && job.attempt === 1) throw failure('Busy', 'the mail provider is busy')
    const lost = customers.find(({ mail }) => mail === null)
    if (lost) throw failure('NoAddress', `${lost.name} has no address`)
    return { sent: customers.length, attempts: job.attempt }
  },
})

export const writeSummary = task('write-summary', {
  input: z.object({ sent: z.number(), problems: z.array(z.string()) }),
  run: ({ sent, problems }) => `${sent} statements sent; ${problems.join(', ') || 'no problems'}`,
})

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
