import { once } from 'node:events'
import { Agent, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { FencepostError } from '../../../src/errors.js'
import {
  type HttpServer,
  type HttpServerFailure,
  type HttpServerOptions,
  startHttpServer,
} from '../../../src/sqs/http-server.js'
import type { SqsCall } from '../../../src/sqs/sqs-call.js'
import { SqsError } from '../../../src/sqs/sqs-error.js'

const running: HttpServer[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()))
})

async function start(options: Partial<HttpServerOptions> = {}) {
  const calls: SqsCall[] = []
  const failures: HttpServerFailure[] = []
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    authorize: () => 'anonymous',
    log: (failure) => failures.push(failure),
    ...options,
    handle(call) {
      calls.push(call)
      return options.handle?.(call) ?? Promise.resolve({})
    },
  })
  running.push(server)
  const ask = (path: string, how: RequestOptions = {}, body?: string | Buffer) => exchange(server.port, path, how, body)
  return { server, calls, failures, ask }
}

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

async function exchange(port: number, path: string, how: RequestOptions, body?: string | Buffer): Promise<Answer> {
  const request = httpRequest({ host: '127.0.0.1', port, path, agent: false, ...how })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

/** Bytes as they are, and all that comes back until the server closes the connection or `enough` has come. */
async function raw(port: number, bytes: string | Buffer, enough?: RegExp): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  const said = await read(socket, enough)
  socket.destroy()
  return said
}

async function read(socket: Socket, enough?: RegExp): Promise<string> {
  let said = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    said += chunk.toString()
    if (enough?.test(said)) break
  }
  return said
}

/** A long poll: empty when the server stops, never when the caller goes. */
function untilStop({ caller: { leaving }, stopping }: SqsCall): Promise<object> {
  return new Promise((resolve, reject) => {
    stopping.addEventListener('abort', () => resolve({ Messages: [] }))
    leaving.addEventListener('abort', () => reject(new Error('the caller went away')))
  })
}

const listQueues = '/?Action=ListQueues'
const poll = '/queue/q?Action=ReceiveMessage'

describe('the HTTP server', () => {
  it('tells that it is there', async () => {
    const { ask, calls } = await start()
    expect(await ask('/health')).toMatchObject({ status: 200, body: 'ok\n' })
    expect(await ask('/health', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
    expect(calls).toEqual([])
  })

  it.each(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'])('does not know %s', async (method) => {
    const { ask } = await start()
    const answer = await ask(listQueues, { method })
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, POST' } })
    expect(answer.headers['x-amzn-requestid']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('tells a call how its caller addressed it, so that the way back can be named', async () => {
    const { ask, calls, server } = await start()
    const hosts = ['sqs.example.org', 'sqs:9324', '[::1]:9324', 'evil.test/path?', '<script>']
    for (const host of hosts) await ask(listQueues, { headers: { host } })
    await ask(listQueues, { headers: { host: 'sqs.example.org', 'x-forwarded-proto': 'https' } })
    expect(calls.map(({ baseUrl }) => baseUrl)).toEqual([
      'http://sqs.example.org',
      'http://sqs:9324',
      'http://[::1]:9324',
      server.url,
      server.url,
      'https://sqs.example.org',
    ])
  })

  it('takes a queue from the path, in either form', async () => {
    const { ask, calls } = await start()
    const headers = { host: 'sqs:9324' }
    await ask('/000000000000/orders?Action=PurgeQueue', { headers })
    await ask('/queue/orders/', { method: 'POST', headers }, 'Action=PurgeQueue')
    await ask('http://sqs:9324/queue/by-proxy?Action=PurgeQueue', { headers })
    expect(calls.map(({ input }) => input)).toEqual([
      { QueueUrl: 'http://sqs:9324/000000000000/orders' },
      { QueueUrl: 'http://sqs:9324/queue/orders' },
      { QueueUrl: 'http://sqs:9324/queue/by-proxy' },
    ])
  })

  it('asks who it is before it says what is wrong', async () => {
    const { ask } = await start({
      authorize: () => Promise.reject(new SqsError('MissingAuthenticationToken', 'Not signed.')),
    })
    const answer = await ask('/?Action=Nonsense')
    expect(answer.status).toBe(403)
    expect(answer.body).toContain('<Code>MissingAuthenticationToken</Code>')
  })

  it('hides an error that nobody expected, and tells the log', async () => {
    const bug = new TypeError('secret detail')
    const { ask, failures } = await start({ handle: () => Promise.reject(bug) })
    const answer = await ask(listQueues)
    expect(answer.status).toBe(500)
    expect(answer.body).toContain('<Type>Receiver</Type><Code>InternalFailure</Code>')
    expect(answer.body).not.toContain('secret')
    expect(failures).toEqual([{ requestId: answer.headers['x-amzn-requestid'], action: 'ListQueues', error: bug }])
  })

  it('says that it is unavailable while the database is', async () => {
    const away = new FencepostError('FP_DATABASE_UNREACHABLE', 'connect ECONNREFUSED 10.0.0.7:5432')
    const { ask, failures } = await start({ handle: () => Promise.reject(away) })
    const answer = await ask('/', { method: 'POST', headers: { 'x-amz-target': 'AmazonSQS.ListQueues' } }, '{}')
    expect(answer.status).toBe(503)
    expect(answer.headers['x-amzn-query-error']).toBe('ServiceUnavailable;Receiver')
    expect(answer.body).not.toContain('10.0.0.7')
    expect(failures).toMatchObject([{ error: away }])
  })

  it('does not write to the log what the caller did wrong', async () => {
    const { ask, failures } = await start()
    expect((await ask('/?Action=Nonsense')).status).toBe(400)
    expect(failures).toEqual([])
  })

  it('keeps a connection for the next request', async () => {
    const { ask, calls } = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await ask(listQueues, { agent })
    await ask('/?Action=Nonsense', { agent })
    const { headers } = await ask(listQueues, { agent })
    expect(headers.connection).toBe('keep-alive')
    expect(calls).toHaveLength(2)
    agent.destroy()
  })
})

describe('the body of a request', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }

  it('may come in chunks', async () => {
    const { calls, server } = await start()
    const bytes =
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nAction=\r\na\r\nListQueues\r\n0\r\n\r\n'
    expect(await raw(server.port, bytes, /\/ListQueuesResponse>/)).toContain('HTTP/1.1 200')
    expect(calls).toMatchObject([{ action: 'ListQueues' }])
  })

  it('is asked for where the caller waits to be asked', async () => {
    const { server } = await start()
    const socket = connect(server.port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\nExpect: 100-continue\r\n\r\n')
    expect(await read(socket, /\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('Action=ListQueues')
    expect(await read(socket, /\/ListQueuesResponse>/)).toContain('HTTP/1.1 200')
    socket.destroy()
  })

  it('is refused before it is sent, if it is too large', async () => {
    const { server } = await start({ limits: { bodyBytesMax: 100 } })
    const said = await raw(
      server.port,
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n',
    )
    expect(said).toMatch(/^HTTP\/1\.1 413 .*RequestEntityTooLarge/s)
    expect(said).not.toContain('100 Continue')
  })

  it('is refused while it comes, if it is too large, and the connection goes on', async () => {
    const { ask, server } = await start({ limits: { bodyBytesMax: 1000 } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect((await ask('/', { method: 'POST', headers: form, agent }, 'a'.repeat(5_000_000))).status).toBe(413)
    expect((await ask(listQueues, { agent })).status).toBe(200)
    agent.destroy()
    const chunk = `3e8\r\n${'a'.repeat(1000)}\r\n`
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    const next = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n'
    const said = await raw(server.port, `${head}${chunk.repeat(500)}0\r\n\r\n${next}`, /ok\n/)
    expect(said).toMatch(/^HTTP\/1\.1 413 .*HTTP\/1\.1 200 /s)
  })

  it('may be of four mebibytes by default: one of text, however it is written', async () => {
    const { ask, calls } = await start()
    const megabyte = 1024 * 1024
    const escaped = `{"QueueUrl":"q","MessageBody":"${'\\u00e9'.repeat(megabyte / 2)}"}`
    const headers = { 'x-amz-target': 'AmazonSQS.SendMessage' }
    expect((await ask('/', { method: 'POST', headers }, escaped)).status).toBe(200)
    const percent = `Action=SendMessage&QueueUrl=q&MessageBody=${'%C3%A9'.repeat(megabyte / 2)}`
    expect((await ask('/', { method: 'POST', headers: form }, percent)).status).toBe(200)
    expect(calls.map(({ input }) => Buffer.byteLength('MessageBody' in input ? input.MessageBody : ''))).toEqual([
      megabyte,
      megabyte,
    ])
    const agent = new Agent({ keepAlive: true })
    const tooMuch = Buffer.alloc(4 * megabyte + 1, 'a')
    expect((await ask('/', { method: 'POST', headers: form, agent }, tooMuch)).status).toBe(413)
    agent.destroy()
  })

  it('counts against what all bodies together may take, until it is answered', async () => {
    const { ask, server } = await start({
      limits: { bodyBytesMax: 1000, allBodiesBytesMax: 1500 },
      handle: (call) => (call.action === 'ReceiveMessage' ? untilStop(call) : Promise.resolve({})),
    })
    const body = (action: string) => `Action=${action}&QueueUrl=q`.padEnd(1000, '&')
    const waiting = ask('/', { method: 'POST', headers: form }, body('ReceiveMessage'))
    await expect
      .poll(async () => (await ask('/', { method: 'POST', headers: form }, body('PurgeQueue'))).status)
      .toBe(503)
    expect((await ask(listQueues)).status).toBe(200)
    await server.close()
    expect((await waiting).status).toBe(200)
  })

  it('counts no longer when it has been answered, or refused, or was broken off', async () => {
    const { ask, server } = await start({ limits: { bodyBytesMax: 1000, allBodiesBytesMax: 1500 } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const chunked = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n44c\r\n${'a'.repeat(1100)}\r\n0\r\n\r\n`
    for (let round = 0; round < 3; round += 1) {
      const answered = await ask('/', { method: 'POST', headers: form, agent }, 'Action=ListQueues'.padEnd(900, '&'))
      expect(answered.status).toBe(200)
      expect(await raw(server.port, chunked, /RequestEntityTooLarge/)).toContain(' 413 ')
      const socket = connect(server.port, '127.0.0.1')
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n${'a'.repeat(900)}`)
      await once(socket, 'ready')
      socket.end()
      await read(socket)
    }
    agent.destroy()
  })

  it('is refused if it is compressed', async () => {
    const { ask } = await start()
    const answer = await ask('/', { method: 'POST', headers: { ...form, 'content-encoding': 'gzip' } }, 'x')
    expect(answer.status).toBe(415)
    expect(answer.body).toContain('gzip')
    const long = await ask('/', { method: 'POST', headers: { 'content-encoding': 'x'.repeat(9_000) } }, 'x')
    expect(long.status).toBe(415)
    expect(long.body.length).toBeLessThan(1_000)
  })

  it('that ends in the middle is nobody’s fault', async () => {
    const { ask, server, calls, failures } = await start()
    const socket = connect(server.port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nAction=ListQueues')
    await once(socket, 'ready')
    socket.resetAndDestroy()
    await ask(listQueues)
    expect(calls).toHaveLength(1)
    expect(failures).toEqual([])
  })

  it('that does not come is given up', async () => {
    const { server } = await start({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 200 } })
    expect(await raw(server.port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nAction')).toContain(' 408 ')
    expect(await raw(server.port, 'POST / HTTP/1.1\r\nHost')).toContain(' 408 ')
  })
})

describe('a call that waits', () => {
  it('learns that its caller went away', async () => {
    let gone: (() => void) | undefined
    const left = new Promise<void>((resolve) => (gone = resolve))
    const { server, calls, failures } = await start({
      handle(call) {
        call.caller.leaving.addEventListener('abort', () => gone?.())
        return untilStop(call)
      },
    })
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`GET ${poll} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await expect.poll(() => calls.length).toBe(1)
    socket.destroy()
    await left
    expect(calls[0]?.stopping.aborted).toBe(false)
    expect(failures).toEqual([])
  })

  it('is not told that its caller went away when it has been answered', async () => {
    const { ask, calls, server } = await start()
    await ask(listQueues)
    await server.close()
    expect(calls[0]?.caller.isGone).toBe(false)
  })

  it('costs others nothing: a thousand wait, and the next is answered at once', async () => {
    const { ask, calls, server } = await start({
      handle: (call) => (call.action === 'ReceiveMessage' ? untilStop(call) : Promise.resolve({})),
    })
    const warnings: Error[] = []
    const warned = (warning: Error) => {
      if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning)
    }
    process.on('warning', warned)
    const waiting = Array.from({ length: 1000 }, () => ask(poll))
    await expect.poll(() => calls.length, { timeout: 20_000 }).toBe(1000)
    const began = performance.now()
    expect((await ask(listQueues)).status).toBe(200)
    expect(performance.now() - began).toBeLessThan(1000)
    await server.close()
    const answers = await Promise.all(waiting)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    process.off('warning', warned)
    expect(warnings).toEqual([])
  })
})

describe('a server that stops', () => {
  it('takes no more connections and lets go of those that do nothing', async () => {
    const { ask, server } = await start()
    const agent = new Agent({ keepAlive: true })
    await ask(listQueues, { agent })
    await server.close()
    await expect(ask(listQueues)).rejects.toThrow('ECONNREFUSED')
    agent.destroy()
  })

  it('answers what waits, and keeps no connection for more', async () => {
    const { ask, server, calls } = await start({ handle: untilStop, limits: { graceMs: 60_000 } })
    const agent = new Agent({ keepAlive: true })
    const waiting = ask(poll, { agent })
    await expect.poll(() => calls.length).toBe(1)
    await server.close()
    expect(await waiting).toMatchObject({ status: 200, headers: { connection: 'close' } })
    expect(calls[0]?.caller.isGone).toBe(false)
    agent.destroy()
  })

  it('cuts off what has not ended when its grace is over', async () => {
    let told: AbortSignal | undefined
    const { ask, server, calls } = await start({
      limits: { graceMs: 50 },
      handle: ({ caller }) => {
        told = caller.leaving
        return new Promise(() => {})
      },
    })
    const waiting = ask(poll).then(
      () => 'answered',
      (error: Error) => error.message,
    )
    await expect.poll(() => calls.length).toBe(1)
    await server.close()
    expect(told?.aborted).toBe(true)
    expect(await waiting).toMatch(/socket hang up|ECONNRESET/)
  })

  it('may be told twice', async () => {
    const { server } = await start()
    await Promise.all([server.close(), server.close()])
    await server.close()
  })

  it('says why it cannot start', async () => {
    const { server } = await start()
    await expect(start({ port: server.port })).rejects.toThrow('EADDRINUSE')
  })
})
