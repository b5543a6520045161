import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setMaxListeners } from 'node:events'
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Message, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bodies, queueWords, setupQueue } from './setup.js'

const patience = { timeout: 20_000, interval: 10 }
const manySockets = { requestHandler: { httpAgent: new Agent({ keepAlive: true, maxSockets: 2_000 }) } }

/** A queue at which so many wait, at one server, which sleeps over it. */
async function setupWaiters(count: number) {
  const bundle = await setupQueue()
  const { client, server, sql, QueueUrl } = bundle
  const seen = { arrived: 0, gone: 0 }
  const onRequest = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    if (request.socket.localPort !== server.port) return
    seen.arrived++
    response.once('close', () => seen.gone++)
  }
  subscribe('http.server.request.start', onRequest)
  onTestFinished(() => void unsubscribe('http.server.request.start', onRequest))
  const sqs = client(server.url, manySockets)
  const leaving = new AbortController()
  setMaxListeners(0, leaving.signal)
  const served: { body: string; atMs: number }[] = []
  const waits = Array.from({ length: count }, async () => {
    const command = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 })
    const { Messages = [] } = await sqs
      .send(command, { abortSignal: leaving.signal })
      .catch(() => ({ Messages: [] as Message[] }))
    for (const { Body = '' } of Messages) served.push({ body: Body, atMs: performance.now() })
  })
  await expect.poll(() => seen.arrived, patience).toBe(count)
  await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
  return {
    ...bundle,
    served,
    /** Answers when the server knows it. */
    leave: async () => {
      leaving.abort()
      await Promise.all(waits)
      await expect.poll(() => seen.gone, patience).toBe(count)
    },
  }
}

type Sql = Awaited<ReturnType<typeof setupQueue>>['sql']

/** Of all connections to the database of the test, once it is quiet. */
async function transactionsIn(sql: Sql, ms: number): Promise<number> {
  const count = async () => {
    // A backend reports what it has done once in a second, and when it is idle.
    const rows = await sql<{ n: number }>(
      'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
    )
    return rows[0]!.n
  }
  const before = await count()
  await new Promise((resolve) => setTimeout(resolve, ms)) // what is measured is a rate
  return (await count()) - before
}

describe('receivers that wait', () => {
  it('cost the database the same, a thousand as one', async () => {
    const rate = async (count: number) => {
      const { sql, served, send } = await setupWaiters(count)
      // What their coming has cost is reported late: measured until it is over.
      let perSecond = Number.POSITIVE_INFINITY
      await expect
        .poll(async () => (perSecond = (await transactionsIn(sql, 2_000)) / 2), { timeout: 15_000, interval: 0 })
        .toBeLessThan(30)
      const sentAtMs = performance.now()
      await send('wakes one')
      await expect.poll(() => served.length, patience).toBe(1)
      return { perSecond, wakeMs: served[0]!.atMs - sentAtMs }
    }
    const [one, thousand] = [await rate(1), await rate(1_000)]
    expect(thousand.perSecond).toBeLessThan(one.perSecond + 15)
    expect(thousand.wakeMs).toBeLessThan(1_000)
  })

  it('are woken one by one, each by a message, at once', async () => {
    const { served, send } = await setupWaiters(100)
    const sentAtMs = new Map<string, number>()
    for (let n = 0; n < 10; n++) {
      sentAtMs.set(`m${n}`, performance.now())
      await send(`m${n}`)
    }
    await expect.poll(() => served.map(({ body }) => body).sort(), patience).toEqual([...sentAtMs.keys()])
    const tookMs = served.map(({ body, atMs }) => atMs - sentAtMs.get(body)!)
    expect(Math.min(...tookMs)).toBeLessThan(200)
    expect(Math.max(...tookMs)).toBeLessThan(2_000)
  })

  it('that go away get nothing: the next message is for another, at once, and received for the first time', async () => {
    const { leave, send, receive, served } = await setupWaiters(200)
    await leave()
    await send('for another')
    expect(await receive()).toMatchObject([{ Body: 'for another', Attributes: { ApproximateReceiveCount: '1' } }])
    expect(served).toEqual([])
  })

  it('are woken by a send through another server', async () => {
    const { served, serve, client, QueueUrl } = await setupWaiters(1)
    const other = await serve()
    const { send } = queueWords(client(other.url), QueueUrl)
    const begunAtMs = performance.now()
    await send('from there')
    await expect.poll(() => served, patience).toMatchObject([{ body: 'from there' }])
    expect(served[0]!.atMs - begunAtMs).toBeLessThan(1_000)
  })

  it('are woken without LISTEN, too, by a look every poll', async () => {
    const { send, receive } = await setupQueue({}, 'orders', { listen: false, poll: '100ms' })
    const waits = receive({ WaitTimeSeconds: 20 })
    await receive()
    await send('m')
    expect(bodies(await waits)).toEqual(['m'])
  })

  it('wait as long as the queue says if they do not', async () => {
    const { receive } = await setupQueue({ ReceiveMessageWaitTimeSeconds: '1' })
    const begunAtMs = performance.now()
    expect(await receive()).toEqual([])
    expect(performance.now() - begunAtMs).toBeGreaterThan(950)
    const againAtMs = performance.now()
    expect(await receive({ WaitTimeSeconds: 0 })).toEqual([])
    expect(performance.now() - againAtMs).toBeLessThan(900)
  })

  it('are answered in time though their last look is on its way', async () => {
    const { connect, sql, receive } = await setupQueue({}, 'orders', { poll: '100ms' })
    const begunAtMs = performance.now()
    const waits = receive({ WaitTimeSeconds: 2 })
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
    // Whoever looks now is held up until the wait is over.
    const other = await connect()
    await other.query('begin')
    await other.query('lock table fencepost.sqs_queue in access exclusive mode')
    await expect.poll(() => performance.now() - begunAtMs, patience).toBeGreaterThan(2_200)
    await other.query('rollback')
    expect(await waits).toEqual([])
    expect(performance.now() - begunAtMs).toBeLessThan(6_000)
  })

  it('wait on when another one leaves while a look is on its way', async () => {
    const { connect, sql, send, receive } = await setupQueue({}, 'orders', { poll: '100ms' })
    const begunAtMs = performance.now()
    const long = receive({ WaitTimeSeconds: 20 })
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
    const short = receive({ WaitTimeSeconds: 2 })
    await receive() // the other one is on its way
    const other = await connect()
    await other.query('begin')
    await other.query('lock table fencepost.sqs_queue in access exclusive mode')
    expect(await short).toEqual([])
    await other.query('rollback')
    // Longer than a queue is watched at which nobody waits.
    await expect.poll(() => performance.now() - begunAtMs, patience).toBeGreaterThan(9_000)
    await send('m')
    expect(bodies(await long)).toEqual(['m'])
  })

  it('are not disturbed by a job that is due in a month', async () => {
    const { add, errors, sql, send, receive } = await setupQueue()
    await add({ delayMs: 40 * 24 * 3_600_000 })
    const waits = receive({ WaitTimeSeconds: 20 })
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
    await send('m')
    expect(bodies(await waits)).toEqual(['m'])
    expect(errors).toEqual([])
  })
})

it('asks again to be notified after others have taken this server for dead', async () => {
  const { sql } = await setupWaiters(1)
  await sql('delete from fencepost.sqs_server')
  await sql('delete from fencepost.sleeper')
  await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).toHaveLength(1)
})

it('asks to be notified only while somebody waits, or has just waited', async () => {
  const { sql, receive } = await setupQueue()
  await receive({ WaitTimeSeconds: 1 })
  expect(await sql('select 1 from fencepost.sleeper')).toHaveLength(1)
  await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).toEqual([])
})
