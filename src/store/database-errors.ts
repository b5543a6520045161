import { type ErrorCode, FencepostError } from '../errors.js'

/** The server's SQLSTATE, or Node's code for a broken socket. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

const lostSocket = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED'])
const noConnection = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EADDRNOTAVAIL',
])
const lostMessages = [
  'Connection terminated',
  'Client has encountered a connection error',
  'timeout exceeded when trying to connect',
  'Client was closed',
  'Query read timeout',
]

/**
 * The statement may or may not have been carried out: the connection broke, or the server ended our session. Only
 * repeating the move resolves this; a move that is repeated changes nothing twice.
 */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== undefined) {
    // 08: connection exceptions. 57P01 to 57P05: the server shuts down, crashed, starts up, or ended an idle session.
    return (
      lostSocket.has(code) ||
      noConnection.has(code) ||
      code.startsWith('08') ||
      code.startsWith('57P0') ||
      code === '53300' ||
      code === '25006' // read-only: it was the primary, or is about to be
    )
  }
  return error instanceof Error && lostMessages.some((message) => error.message.includes(message))
}

/**
 * Whether the lost connection leaves open what became of the statement: not if there was no connection yet, and not if
 * the server itself said that it ends the session, for then it has undone what it was at.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== undefined) return lostSocket.has(code) || code.startsWith('08') // guard: database-errors.said_by_server
  // guard: database-errors.outcome_unknown
  return isConnectionLost(error) && !/trying to connect|connection timeout/.test(messageOf(error))
}

/** The server undid the statement and asks for another try: serialization failure, deadlock. */
export function isRolledBackByServer(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/**
 * Nothing was done: the session does not know the statement, or knows another one by its name, or a migration has changed
 * what the statement answers since it was prepared.
 */
export function isNotPrepared(error: unknown): boolean {
  const code = codeOf(error)
  return code === '26000' || code === '42P05' || code === '0A000'
}

/**
 * The server refuses what it was given: a value it cannot store, a constraint, a trigger that said no. The same
 * statement will be refused again; other errors pass, however long a full disk or a missing privilege may last.
 */
export function isRefusedData(error: unknown): boolean {
  // What a repeat was refused for, and the first try perhaps not: one more repeat will tell.
  if (codeOf(error) === 'FP_COMMIT_UNKNOWN') return false // guard: database-errors.refused_unknown
  return /^(22|23|P0)/.test(serverCodeOf(error)) // guard: database-errors.refused_data
}

/**
 * A repeat is refused for what it was given, and so was its first try, if nobody knows what became of that. Not if it was a
 * trigger that said no: it may have seen what the first try has stored.
 */
export function wasRefusedBefore(error: unknown): boolean {
  return /^(22|23|FP001)/.test(serverCodeOf(error)) // guard: database-errors.refused_before
}

function serverCodeOf(error: unknown): string {
  return codeOf(error instanceof FencepostError ? error.cause : error) ?? ''
}

/** What the server or the socket said, as an error of the catalogue. The original is its cause. */
export function catalogued(error: unknown): FencepostError {
  if (error instanceof FencepostError) return error
  const make = (kind: ErrorCode) => new FencepostError(kind, messageOf(error), { cause: error })
  switch (codeOf(error)) {
    case 'FP001':
      return make('FP_ID_CONFLICT')
    case 'FP011':
      return make('FP_LEASE_LOST')
    case 'FP012':
      return make('FP_JOB_COMMITTED')
    case 'FP013':
      return make('FP_TRANSACTION_ENDED')
    case '25P02':
      return make('FP_TRANSACTION_ROLLED_BACK')
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
      return unreachable(error)
    default:
      return isConnectionLost(error) || isWithoutSession(error) ? unreachable(error) : make('FP_DATABASE_ERROR')
  }
}

/** Whatever went wrong before there was a session. */
export function unreachable(error: unknown): FencepostError {
  return new FencepostError('FP_DATABASE_UNREACHABLE', messageOf(error), { cause: error })
}

/** FATAL ends the session or refuses it; `pg` itself gives up, for lack of a password or of TLS, with a bare Error. */
function isWithoutSession(error: unknown): boolean {
  if ((error as { severity?: unknown } | undefined)?.severity === 'FATAL') return true
  return error instanceof Error && /^SASL: |^The server does not support SSL connections/.test(error.message)
}

/** One for each address of a host that has several. */
function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return typeof message === 'string' ? message : String(error)
}
