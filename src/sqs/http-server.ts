import { randomUUID } from 'node:crypto'
import { once, setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type ErrorCode, FencepostError } from '../errors.js'
import { type BodyBudget, isTooLarge, readBody } from './request-body.js'
import { echoed } from './rules/characters.js'
import { Caller, type SqsCall, type SqsHandler } from './sqs-call.js'
import { SqsError } from './sqs-error.js'
import { type HttpAnswer, type HttpRequest, splitUrl } from './wire/http-message.js'
import { decodeRequest, encodeError, encodeOutput, protocolOf } from './wire/protocol.js'

export interface HttpServerOptions {
  readonly host: string
  /** 0 for any free one. */
  readonly port: number
  /** The access key id of a signed request, or `anonymous` where unsigned ones are let in; throws an SqsError. */
  readonly authorize: (request: HttpRequest) => string | Promise<string>
  readonly handle: SqsHandler
  readonly limits?: Partial<HttpServerLimits>
  /** Told of what the caller is not: the error behind an InternalFailure or a ServiceUnavailable. */
  readonly log?: (failure: HttpServerFailure) => void
}

export interface HttpServerFailure {
  readonly requestId: string
  readonly action: string | undefined
  readonly error: unknown
}

interface HttpServerLimits {
  /**
   * Messages of a request may add up to 1 MiB. A form writes three bytes for one (`%C3`), JSON in ASCII up to three
   * (`\u00e9` for two bytes), base64 four for three; the rest is for names, attributes and signatures.
   */
  readonly bodyBytesMax: number
  /** Over all connections: a thousand callers that send slowly must not fill the memory. */
  readonly allBodiesBytesMax: number
  readonly connectionsMax: number
  readonly headersTimeoutMs: number
  /** For a request to arrive; an answer may take as long as a long poll does. */
  readonly requestTimeoutMs: number
  /** Longer than the pools of the SDKs keep a connection, so that no request is sent into one that is just closed. */
  readonly keepAliveMs: number
  /** How long `close()` waits for requests that are under way. */
  readonly graceMs: number
}

const defaultLimits: HttpServerLimits = {
  bodyBytesMax: 4 * 1024 * 1024,
  allBodiesBytesMax: 256 * 1024 * 1024,
  connectionsMax: 20_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 75_000,
  graceMs: 10_000,
}

export interface HttpServer {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** What the requests of a server share. */
interface Serving extends Pick<HttpServerOptions, 'authorize' | 'handle' | 'log'> {
  readonly budget: BodyBudget
  readonly stopping: AbortSignal
  /** They are cut off when the grace of `close()` is over. */
  readonly callers: Set<Caller>
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const limits = { ...defaultLimits, ...options.limits }
  const stopping = new AbortController()
  // Every request that waits listens to it; Node would take the eleventh for a leak.
  setMaxListeners(0, stopping.signal)
  const serving: Serving = {
    authorize: options.authorize,
    handle: options.handle,
    ...(options.log && { log: options.log }),
    budget: { ...limits, usedBytes: 0 },
    stopping: stopping.signal,
    callers: new Set(),
  }
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(5_000, limits.headersTimeoutMs),
      noDelay: true,
    },
    (request, response) => void serve(request, response, serving),
  )
  server.maxConnections = limits.connectionsMax
  // Of these `server.close()` thinks that a request is about to come: pools and health checks open such connections.
  const unused = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }) => unused.delete(socket))
  server.on('checkContinue', ({ socket }) => unused.delete(socket))
  server.on('checkContinue', (request, response) => {
    // Whoever asks first need not send megabytes to be told that they are too many.
    if (!isTooLarge(request, limits)) response.writeContinue()
    void serve(request, response, serving)
  })
  // As many may come at once: what the system does not keep for us, it drops or resets. (By default it keeps 511.)
  server.listen({ port: options.port, host: options.host, backlog: limits.connectionsMax })
  await once(server, 'listening')
  const { address, family, port } = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    port,
    close() {
      closed ??= new Promise((resolve) => {
        const grace = setTimeout(() => {
          for (const caller of serving.callers) caller.leave()
          server.closeAllConnections()
        }, limits.graceMs)
        server.close(() => {
          clearTimeout(grace)
          resolve()
        })
        stopping.abort()
        for (const socket of unused) socket.destroy()
      })
      return closed
    },
  }
}

/** One request from its first byte to the last of its answer. Never rejects. */
async function serve(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const requestId = randomUUID()
  const caller = new Caller()
  response.on('close', () => {
    if (!response.writableFinished) caller.leave()
  })
  serving.callers.add(caller)
  let action: string | undefined
  let answer: HttpAnswer | undefined
  try {
    answer = otherThanCalls(request)
    if (!answer) {
      const whole = await receive(request, serving)
      if (!whole) return
      try {
        // First who it is: a stranger learns nothing of what else is wrong with its request.
        const principal = await serving.authorize(whole)
        const baseUrl = baseUrlOf(request)
        const decoded = decodeRequest(whole, baseUrl)
        action = decoded.action
        const call = {
          action,
          input: decoded.input,
          principal,
          token: headerOf(request, 'x-fencepost-idempotency-key') ?? headerOf(request, 'amz-sdk-invocation-id'),
          baseUrl,
          caller,
          stopping: serving.stopping,
          requestId,
        } as SqsCall
        answer = encodeOutput(decoded.protocol, decoded.action, await serving.handle(call), requestId)
      } finally {
        serving.budget.usedBytes -= whole.body.length
      }
    }
  } catch (error) {
    const told = toldError(error)
    if (told !== error && !caller.isGone) serving.log?.({ requestId, action, error })
    answer = encodeError(protocolOf(request), told, requestId)
  } finally {
    serving.callers.delete(caller)
  }
  send(request, response, answer, serving.stopping.aborted)
}

/** The health of this process, and methods that the API does not have. */
function otherThanCalls({ method, url }: IncomingMessage): HttpAnswer | undefined {
  if ((method === 'GET' || method === 'HEAD') && splitUrl(url ?? '').path === '/health') {
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: 'ok\n' }
  }
  if (method === 'GET' || method === 'POST') return undefined
  throw new SqsError('MethodNotAllowed', `The method ${method} is not allowed. Use POST, or GET with a query string.`)
}

async function receive(request: IncomingMessage, { budget, stopping }: Serving): Promise<HttpRequest | undefined> {
  if (stopping.aborted) throw new SqsError('ServiceUnavailable', 'The server is about to stop. Try again.')
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    const text = `A body in the encoding ${echoed(encoding)} is not accepted. Send it as it is.`
    throw new SqsError('UnsupportedMediaType', text)
  }
  const body = await readBody(request, budget)
  // A proxy may send the whole url in the request line; what counts, and was signed, is its path and query.
  const url = (request.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '')
  return body && { method: request.method ?? '', url, headers: request.headers, body }
}

const unavailabilities: { readonly [code in ErrorCode]?: string } = {
  FP_DATABASE_UNREACHABLE: 'The database cannot be reached at the moment.',
  FP_COMMIT_UNKNOWN: 'The database was lost, and it is not known whether the request was carried out.',
  FP_SQS_LEDGER: 'Other servers of this fleet are in the way of this one.',
}

/** What the caller is told; another error than what was thrown if that is not for it to know. */
function toldError(error: unknown): SqsError {
  if (error instanceof SqsError) return error
  const unavailable = error instanceof FencepostError ? unavailabilities[error.code] : undefined
  if (unavailable !== undefined) return new SqsError('ServiceUnavailable', `${unavailable} Try again.`)
  return new SqsError('InternalFailure', 'The request failed for a reason that the log of the server tells.')
}

function send(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer, stopping: boolean): void {
  if (response.destroyed) return
  const headers: Record<string, string | number> = {
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
  }
  if (answer.status === 405) headers['allow'] = 'GET, POST'
  if (stopping) headers['connection'] = 'close'
  response.writeHead(answer.status, headers).end(request.method === 'HEAD' ? undefined : answer.body)
  // What is left of a body that was refused is read and forgotten: the next request comes after it.
  if (!request.complete) request.resume()
}

const validHost = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i

/** Behind a proxy that ends TLS, the caller's scheme is what the proxy says. */
function baseUrlOf(request: IncomingMessage): string {
  const scheme = headerOf(request, 'x-forwarded-proto') === 'https' ? 'https' : 'http'
  const { host } = request.headers
  if (host !== undefined && validHost.test(host)) return `${scheme}://${host}`
  const { localAddress = 'localhost', localPort = 80 } = request.socket
  return `${scheme}://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
