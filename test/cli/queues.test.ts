import { expect, it } from 'vitest'
import { pause } from '../../src/store/gates.js'
import { gates } from '../harness/gates.js'
import { setup } from '../harness/setup.js'
import { cli, cliJson } from './cli-process.js'

it('counts the jobs in each place of each queue, and tells the age of the oldest that is ready', async () => {
  const { url, db, add, take, sql } = await setup()
  const oldest = await add({ queue: 'mail' })
  for (let i = 0; i < 3; i++) await add({ queue: 'mail', gatesText: gates({ key: 'gate:k' }) })
  await add({ queue: 'mail', delayMs: 60_000 })
  await add({ queue: 'slow' })
  await take({ queue: 'slow' })
  await pause(db, 'queue:slow')
  await sql(`update fencepost.job set created_at = created_at - interval '2 hours 5 minutes' where id = $1`, [oldest])

  const { code, stdout, stderr } = await cli(['queues'], { url })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['QUEUE', 'DELAYED', 'WAITING', 'READY', 'LEASED', 'PARKED', 'OLDEST READY', 'STATE'],
    ['mail', '1', '2', '2', '0', '0', '2h 5m'],
    ['slow', '0', '0', '0', '1', '0', '-', expect.stringMatching(/^paused since \d{4}-/)],
    [''],
  ])
  expect(await cliJson(['queues'], { url })).toEqual([
    {
      queue: 'mail',
      ready: 2,
      waiting: 2,
      leased: 0,
      delayed: 1,
      parked: 0,
      oldestReadyMs: expect.any(Number) as number,
      pausedAt: null,
    },
    {
      queue: 'slow',
      ready: 0,
      waiting: 0,
      leased: 1,
      delayed: 0,
      parked: 0,
      oldestReadyMs: null,
      pausedAt: expect.any(String) as string,
    },
  ])
})

it('says so when there is none', async () => {
  const { url } = await setup()
  expect((await cli(['queues'], { url })).stdout).toBe('No queue has held a job yet.\n')
  expect(await cliJson(['queues'], { url })).toEqual([])
})
