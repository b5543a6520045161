import { FencepostError } from '../errors.js'

/** The server's SQLSTATE, or Node's code for a broken socket. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

const lostSocket = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED'])
const unreachable = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT', 'EADDRNOTAVAIL'])
const lostMessages = [
  'Connection terminated',
  'Client has encountered a connection error',
  'timeout exceeded when trying to connect',
  'Client was closed',
]

/**
 * The statement may or may not have been carried out: the connection broke, or the server ended our session. Only
 * repeating the move resolves this; a move that is repeated changes nothing twice.
 */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== undefined) {
    // 08: connection exceptions. 57P01 to 57P05: the server shuts down, crashed, starts up, or ended an idle session.
    return lostSocket.has(code) || unreachable.has(code) || code.startsWith('08') || code.startsWith('57P0') || code === '53300'
  }
  return error instanceof Error && lostMessages.some((message) => error.message.includes(message))
}

/** The server undid the statement and asks for another try: serialization failure, deadlock. */
export function isRolledBackByServer(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/** What the server or the socket said, as an error of the catalogue. The original is its cause. */
export function catalogued(error: unknown): FencepostError {
  if (error instanceof FencepostError) return error
  const code = codeOf(error)
  const message = error instanceof AggregateError ? error.errors.map(String).join('; ') : String((error as Error)?.message ?? error)
  const make = (kind: ConstructorParameters<typeof FencepostError>[0]) => new FencepostError(kind, message, { cause: error })
  switch (code) {
    case 'FP001':
      return make('FP_ID_CONFLICT')
    case '42501':
      return make('FP_DATABASE_PRIVILEGE')
    case '3F000':
    case '42P01':
    case '42883':
      return make('FP_SCHEMA_MISSING')
    case '22P05':
    case '22P02':
      return make('FP_INPUT_NOT_JSON')
    case '28000':
    case '28P01':
    case '3D000':
      return make('FP_DATABASE_UNREACHABLE')
    default:
      return make(isConnectionLost(error) ? 'FP_DATABASE_UNREACHABLE' : 'FP_DATABASE_ERROR')
  }
}
