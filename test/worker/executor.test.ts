import { once } from 'node:events'
import { expect, it } from 'vitest'
import type { JobContext } from '../../src/index.js'
import type { Execution } from '../../src/worker/executor.js'
import { door, setupExecution } from './setup.js'

/** Until its end is settled. */
function run(execution: Execution, handlerEnded = () => {}): Promise<void> {
  return new Promise((resolve, reject) =>
    execution.run({ handlerEnded, settled: (_, error) => (error === undefined ? resolve() : reject(error)) }),
  )
}

async function untilAborted({ signal }: JobContext): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

it('does not begin a job that was told to stop while it waited in line', async () => {
  let begun = false
  const { execution, id, see } = await setupExecution(() => {
    begun = true
  })
  let slotIsFree = false

  execution.abort('cancelled')
  await run(execution, () => {
    slotIsFree = true
  })

  expect(begun).toBe(false)
  expect(slotIsFree).toBe(true)
  expect(await see(id)).toMatchObject({ place: 'ready', failures: 0, releases: 1 })
})

it('hears a handler that was left behind only when its own word about that has been told', async () => {
  let hasReturned = () => {}
  const returned = new Promise<void>((resolve) => {
    hasReturned = resolve
  })
  const { execution, id, see, sql, proxy } = await setupExecution(
    async (job) => {
      proxy.stall()
      await untilAborted(job)
      hasReturned()
      return 'too late'
    },
    { timeout: 20 },
  )

  const ran = run(execution)
  await returned
  for (let n = 0; n < 50; n++) await sql('select 1') // time for a success to overtake the failure
  proxy.resume()
  await ran
  await execution.letGo()

  expect(await see(id)).toMatchObject({ place: 'delayed', failures: 1 })
  expect(await sql('select ending, late_ending from fencepost.attempt')).toEqual([
    { ending: 'failed', late_ending: 'succeeded' },
  ])
})

it('does not report it as a late failure that a handler throws because it was told to stop', async () => {
  const { execution, seen, sql } = await setupExecution(async (job) => {
    await untilAborted(job)
    throw job.signal.reason
  })
  const ran = run(execution)

  await execution.giveBack('shutdown')
  await ran
  await execution.letGo()

  expect(seen).toEqual(['released'])
  expect(await sql('select ending, late_ending from fencepost.attempt')).toEqual([
    { ending: 'released', late_ending: null },
  ])
})

it('tells a handler the first reason to stop', async () => {
  const { execution } = await setupExecution(() => {})

  execution.abort('timeout')
  execution.abort('shutdown')

  expect(execution.signal.reason).toMatchObject({ message: expect.stringContaining('timeout') as string })
})

it('gives a job back, and does not finish it, too, if its handler ends in that moment', async () => {
  const { execution, id, see, seen } = await setupExecution(() => 'done')

  await run(execution, () => void execution.giveBack('shutdown'))

  expect(seen).toEqual(['released'])
  expect(await see(id)).toMatchObject({ place: 'ready', releases: 1 })
})

it('fails a job whose error the database refuses', async () => {
  const { execution, id, see, sql } = await setupExecution(() => {
    throw new Error('bad')
  })
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.error ->> 'message' = 'bad' then raise exception using errcode = '22P05', message = 'cannot be stored'; end if;
      return new; end $$;
    create trigger refuse before insert on fencepost.attempt for each row execute function refuse()`)

  await run(execution)

  expect(await see(id)).toMatchObject({ place: 'delayed', failures: 1 })
  expect(await sql(`select error ->> 'message' as message from fencepost.attempt`)).toEqual([
    { message: 'the error of the handler cannot be stored' },
  ])
})

it('begins the backoff anew after a person has raised the budget', async () => {
  const { execution, sql } = await setupExecution(
    () => {
      throw new Error('again')
    },
    // Three failures of the first budget, one of the second: this one is its second.
    {
      retry: { limit: 3, backoff: 'exponential', delay: '10s', max: '1h', jitter: 0 },
      lease: { failures: 4, failuresMax: 6 },
    },
  )

  await run(execution)

  expect(
    await sql('select round(extract(epoch from due_at - fencepost.clock()))::int as s from fencepost.delayed'),
  ).toEqual([{ s: 20 }])
})

it('counts a lease from the moment at which it was asked for', async () => {
  const sentAtMs = performance.now() - 60_000

  const { execution } = await setupExecution(() => {}, { sentAtMs })

  expect(execution.validUntilMs).toBe(Math.floor(sentAtMs + 30_000))
})

it('lets go of the input of a job whose handler has ended, before that is settled', async () => {
  const { execution } = await setupExecution(() => {}, { lease: { payload: { large: true } } })
  let kept: unknown

  await run(execution, () => {
    kept = execution.lease.payload
  })

  expect(kept).toBe(null)
})

it('shows a handler that looks at its signal for the first time after it was told to stop that it was', async () => {
  const gate = door()
  let stopped: boolean | undefined
  const { execution } = await setupExecution(async (job) => {
    await gate.pass()
    stopped = job.signal.aborted
  })
  const reached = gate.reached()
  const ran = run(execution)
  await reached
  execution.abort('shutdown')
  await ran

  gate.open()
  await execution.letGo()

  expect(stopped).toBe(true)
})
