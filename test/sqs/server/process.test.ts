import {
  CreateQueueCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { packageRoot } from '../../../src/package-root.js'
import { cli, CliProcess } from '../../cli/cli-process.js'
import { setup } from '../../harness/setup.js'
import { credentials, refusal, setupQueue, setupServer } from './setup.js'

const index = pathToFileURL(join(packageRoot, 'dist', 'src', 'index.js')).href
const patience = { timeout: 20_000, interval: 10 }

describe('the URL of a queue', () => {
  it.each([
    ['the address', '127.0.0.1'],
    ['a name', 'localhost'],
  ])('leads back to the server under %s that the client has called', async (_what, host) => {
    const { client, server } = await setupServer()
    const sqs = client(`http://${host}:${server.port}`)
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'q' }))
    expect(QueueUrl).toBe(`http://${host}:${server.port}/000000000000/q`)
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls).toEqual([QueueUrl])
    // Without an endpoint the SDK sends to the URL of the queue.
    const byUrl = new SQSClient({ region: 'us-east-1', credentials, maxAttempts: 1 })
    onTestFinished(() => byUrl.destroy())
    expect((await byUrl.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))).MessageId).toBeTruthy()
  })

  it('has the scheme and the name that a proxy before it has', async () => {
    const { server } = await setupServer({ unsigned: true, keys: {} })
    const create = (headers: Record<string, string>) =>
      new Promise<string>((resolve, reject) => {
        request(`${server.url}/?Action=CreateQueue&QueueName=q&Version=2012-11-05`, { headers }, (response) => {
          let text = ''
          response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
        })
          .on('error', reject)
          .end()
      })
    expect(await create({ host: 'sqs.localhost', 'x-forwarded-proto': 'https' })).toContain(
      '<QueueUrl>https://sqs.localhost/000000000000/q</QueueUrl>',
    )
  })

  it('is understood with another host and account, as it was at AWS', async () => {
    const { sqs, receive } = await setupQueue()
    const QueueUrl = 'https://sqs.eu-west-1.amazonaws.com/123456789012/orders'
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))
    expect(await receive()).toHaveLength(1)
  })
})

describe('a server that stops', () => {
  it('answers those who wait, ends at once, and leaves nothing behind', async () => {
    const { sqs, server, sql, QueueUrl } = await setupQueue()
    const waits = Array.from({ length: 5 }, () =>
      sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 })),
    )
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).toHaveLength(1)
    const begunAtMs = performance.now()
    await server.close()
    expect(performance.now() - begunAtMs).toBeLessThan(3_000)
    for (const answer of await Promise.all(waits)) expect(answer).not.toHaveProperty('Messages')
    expect(await sql('select 1 from fencepost.sqs_server union all select 1 from fencepost.sleeper')).toEqual([])
  })

  it('lets a send end that is on its way, and takes no other', async () => {
    const { sqs, server, sql, QueueUrl, ...database } = await setupQueue()
    const other = await database.connect()
    await other.query('begin')
    await other.query('lock table fencepost.sqs_queue in access exclusive mode')
    const sends = sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))
    const waiting = `select 1 from pg_locks where not granted and relation = 'fencepost.sqs_queue'::regclass`
    await expect.poll(() => sql(waiting), patience).not.toEqual([])
    const closed = server.close()
    await expect
      .poll(() => refusal(sqs.send(new ListQueuesCommand({}))), patience)
      .toEqual([expect.stringMatching(/Error|ECONNREFUSED|ServiceUnavailable/), undefined])
    await other.query('rollback')
    expect((await sends).MessageId).toBeTruthy()
    await closed
    expect(await sql('select 1 from fencepost.ready')).toHaveLength(1)
  })

  it('does not wait for a connection on which nothing comes', async () => {
    const { server } = await setupServer()
    const silent = connect(server.port, '127.0.0.1')
    silent.on('error', () => {})
    onTestFinished(() => void silent.destroy())
    await once(silent, 'connect')
    const begunAtMs = performance.now()
    await server.close()
    expect(performance.now() - begunAtMs).toBeLessThan(3_000)
  })
})

describe('`fencepost sqs`', () => {
  const env = { FENCEPOST_SQS_KEYS: `${credentials.accessKeyId}:${credentials.secretAccessKey}` }

  it('serves, and on SIGTERM answers those who wait, exits with 0 and leaves nothing behind', async () => {
    const { url, sql } = await setup()
    const { client } = await setupServer()
    const process = new CliProcess(['sqs', '--port', '0'], { url, env })
    await process.sees(/ready: SQS at/)
    const endpoint = /SQS at (http:\S+)/.exec(process.stdout)![1]!
    const sqs = client(endpoint)
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'q' }))
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))
    expect((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages).toHaveLength(1)
    const waits = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }))
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).toHaveLength(1)
    expect(await sql('select 1 from fencepost.sqs_server')).toHaveLength(1)
    process.signal('SIGTERM')
    expect(await waits).not.toHaveProperty('Messages')
    const { code, stderr } = await process.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await sql('select 1 from fencepost.sqs_server union all select 1 from fencepost.sleeper')).toEqual([])
  })

  it('says what to do if it cannot serve', async () => {
    const { url } = await setup()
    const dir = await mkdtemp(join(tmpdir(), 'fencepost-sqs-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const config = (name: string, sqs: string) =>
      writeFile(
        join(dir, name),
        `import { defineConfig } from '${index}'\nexport default defineConfig({ sqs: ${sqs} })\n`,
      )
    await config('misspelt.mjs', '{ prot: 1234 }')
    await config('rights.mjs', `{ keys: { ME: { secret: 'hush', queues: { '*': ['read'] } } } }`)
    await config('empty.mjs', `{ keys: { ME: { secret: '' } } }`)
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const port = String((taken.address() as AddressInfo).port)
    const cases: [args: string[], env: Record<string, string>, ...says: (string | RegExp)[]][] = [
      [['--port', port], env, 'FP_PORT_IN_USE', `127.0.0.1:${port}`, '--port'],
      [['--port', '0'], {}, 'FP_SQS_NO_KEYS', 'FENCEPOST_SQS_KEYS', '--unsigned'],
      [['--port', '0', '--unsigned', '--host', '0.0.0.0'], env, 'FP_SQS_UNSIGNED', '"0.0.0.0"', '127.0.0.1'],
      [['--port', '70000'], env, 'FP_OPTION_INVALID', '65535'],
      [['--port', '0'], { FENCEPOST_SQS_KEYS: 'hush' }, 'FP_OPTION_INVALID', 'id:secret'],
      [['--port', '0', '--send-dedup', 'maybe'], env, 'off, read, on'],
      [['misspelt.mjs'], env, 'FP_MODULE_FAILED', '"prot"', /did you mean.*port/i],
      [['rights.mjs'], {}, 'FP_MODULE_FAILED', '"read"', 'send, receive, manage'],
      [['empty.mjs'], {}, 'FP_MODULE_FAILED', 'secret of "ME"'],
    ]
    for (const [args, given, ...says] of cases) {
      const { code, stdout, stderr } = await cli(['sqs', ...args], { url, env: given, cwd: dir })
      expect({ args, code, stdout }).toEqual({ args, code: expect.any(Number), stdout: '' })
      expect(code).toBeGreaterThan(0)
      for (const text of says) expect(stderr).toMatch(text)
      expect(stderr).not.toContain('hush')
      expect(stderr).not.toMatch(/\n\s+at /)
    }
  })
})
