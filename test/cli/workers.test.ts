import { expect, it } from 'vitest'
import { claim } from '../../src/store/lease.js'
import { setup } from '../harness/setup.js'
import { cli, cliJson } from './cli-process.js'

const register = 'select fencepost.register($1, $2, $3, $4, $5, $6)'

/** Cells of a table, without the colours and the padding. */
const cells = (stdout: string) => stdout.split('\n').map((line) => line.trim().split(/ {2,}/))

it('lists who is there, what each one runs since when, and the leases of those that have gone', async () => {
  const { url, add, take, sql, advance } = await setup()
  await sql(register, ['w-idle', 11, 'box-1', '0.1.0', { slow: 1 }, ['export']])
  await sql(register, ['w-busy', 12, 'box-2', '0.1.0', { default: 10, mail: 2 }, ['test']])
  const started = await add()
  await take({ worker: 'w-busy' })
  const claimed = await add()
  await take({ worker: 'w-busy', started: false })
  const orphan = await add({ leaseMs: 60_000 })
  await take({ worker: 'w-gone' })
  await advance(45_000)
  await sql(`select fencepost.see('w-busy', true)`)

  const { code, stdout, stderr } = await cli(['workers'], { url })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(cells(stdout)).toEqual([
    ['WORKER', 'HOST', 'PID', 'SINCE', 'SEEN', 'RUNNING', 'STATE', 'QUEUES'],
    [
      'w-idle',
      'box-1',
      '11',
      expect.stringMatching(/^4\ds ago$/),
      expect.stringMatching(/^4\ds ago$/),
      '0',
      'silent',
      'slow (1)',
    ],
    [
      'w-busy',
      'box-2',
      '12',
      expect.stringMatching(/^4\ds ago$/),
      expect.stringMatching(/^\d.*s ago$/),
      '2',
      'stopping',
      'mail (2), default (10)',
    ],
    ['w-gone', '-', '-', '-', '-', '1', 'gone', '-'],
    [''],
    ['WORKER', 'JOB', 'TASK', 'QUEUE', 'ATTEMPT', 'SINCE'],
    ['w-busy', started, 'test', 'default', '1', expect.stringMatching(/^started 4\ds ago; its lease has run out$/)],
    [
      'w-busy',
      claimed,
      'test',
      'default',
      '1',
      expect.stringMatching(/^claimed 4\ds ago, not started; its lease has run out$/),
    ],
    ['w-gone', orphan, 'test', 'default', '1', expect.stringMatching(/^started 4\ds ago$/)],
    [''],
  ])
  expect(await cliJson(['workers'], { url })).toMatchObject([
    {
      id: 'w-idle',
      registered: true,
      host: 'box-1',
      pid: 11,
      queues: { slow: 1 },
      running: 0,
      jobs: [],
      stoppingAt: null,
    },
    {
      id: 'w-busy',
      stoppingAt: expect.any(String) as string,
      running: 2,
      jobs: [
        { jobId: started, task: 'test', queue: 'default', attempt: 1, startedMs: expect.any(Number) as number },
        { jobId: claimed, startedMs: null },
      ],
    },
    { id: 'w-gone', registered: false, host: null, pid: null, running: 1, jobs: [{ jobId: orphan }] },
  ])
})

it('shows a hundred leases of a worker, and says how many more there are', async () => {
  const { url, add, db, sql } = await setup()
  await sql(register, ['w', 1, 'box', '0.1.0', { default: 200 }, ['test']])
  for (let i = 0; i < 103; i++) await add()
  await claim(db, { queue: 'default', limit: 200, worker: 'w' })

  const { stdout } = await cli(['workers'], { url })

  expect(cells(stdout)[1]).toEqual(expect.arrayContaining(['w', '103', 'working']))
  expect(stdout.match(/not started/g)).toHaveLength(100)
  expect(stdout).toMatch(/\nAnd 3 more: fencepost jobs list --place leased\n$/)
})

it('says so when there is none', async () => {
  const { url } = await setup()
  expect((await cli(['workers'], { url })).stdout).toBe('No worker is there. Start one with: fencepost worker\n')
  expect(await cliJson(['workers'], { url })).toEqual([])
})
