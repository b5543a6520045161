import { expect, it, onTestFinished } from 'vitest'
import { Database } from '../../../src/store/database.js'
import { FaultProxy } from '../../harness/fault-proxy.js'
import { bodies, queueWords, refusal, setupQueue } from './setup.js'

const patience = { timeout: 20_000, interval: 10 }

/** A queue, and a second server of it whose database can be away. */
async function setupOutage() {
  const bundle = await setupQueue()
  const proxy = await FaultProxy.start(bundle.url)
  const db = new Database({ url: proxy.url })
  onTestFinished(() => db.close())
  const server = await bundle.serve({}, db)
  return { ...bundle, proxy, there: queueWords(bundle.client(server.url), bundle.QueueUrl) }
}

it('tells a client that the database is away, and serves it again when it is back', async () => {
  const { proxy, there, counts } = await setupOutage()
  await proxy.stop()
  expect(await refusal(there.send('lost'))).toEqual(['ServiceUnavailable', 503])
  await proxy.comeBack()
  await there.send('m')
  expect(await counts()).toEqual([1, 0, 0])
})

it.each([
  ['is lost on its way to the database', 'loseRequest'],
  ['is stored, and the reply of the database is lost', 'loseReplyTo'],
] as const)('stores a message once that %s', async (_what, fault) => {
  const { proxy, there, counts } = await setupOutage()
  const struck = proxy[fault]('sqs_send')
  const sent = await there.send('once')
  await struck
  expect(await counts()).toEqual([1, 0, 0])
  expect(await there.receive()).toMatchObject([{ MessageId: sent.MessageId, Body: 'once' }])
})

it('keeps those who wait waiting through a cut of all connections', async () => {
  const { proxy, there, send, sql } = await setupOutage()
  const waits = there.receive({ WaitTimeSeconds: 20 })
  await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
  proxy.cutAll()
  await send('m')
  expect(bodies(await waits)).toEqual(['m'])
})
