import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_043: undisturbed, a call that fails once is tried again after its delay, and succeeds', async () => {
  const { fp, db, see } = await setupWorker()
  let tries = 0
  const call = task('call', {
    input: anything,
    retry: { delay: '10ms' },
    run: () => {
      if (++tries === 1) throw new Error('the API is down')
      return 'called'
    },
  })
  const job = await fp.enqueue(call, 1)

  await fp.work([call], { poll: '20ms' })

  expect(await job.result({ timeout: '20s' })).toBe('called')
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 1, losses: 0, releases: 0 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
