import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { setup } from '../harness/setup.js'
import { CliProcess, cliJson } from './cli-process.js'

it('the worker of docs/guides/running-workers.md starts, works and stops as it says', async () => {
  const { url } = await setup()
  const cwd = join(packageRoot, 'examples', 'running-workers')
  const worker = new CliProcess(['worker'], { url, cwd })
  await worker.sees(/"ready: 1 task \(send-mail\)/)

  const payload = '{"to":"ada@example.org","seconds":0}'
  const { id } = await cliJson<{ id: string }>(['enqueue', 'send-mail', payload], { url })
  await worker.sees(new RegExp(`"event":"finished".*"jobId":"${id}"`))
  worker.signal('SIGTERM')

  const { code, stdout } = await worker.ended
  expect(code).toBe(0)
  expect(stdout).toContain('running jobs have 20s to end')
  expect(await cliJson(['jobs', 'show', id], { url })).toMatchObject({ result: { sent: 'ada@example.org' } })
})
