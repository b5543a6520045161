/**
 * The one catalogue of errors. A code is stable and may be matched on; the message says what happened, the hint what
 * to do next. docs/reference/errors.md is generated from this file.
 *
 * Expected endings (`stale`, `already`, `existing`, …) are not errors: moves answer them as values.
 */
const catalogue = {
  FP_INPUT_INVALID: {
    title: 'The input does not fit the task’s schema',
    hint: 'Fix the fields named in the message, or change the input schema of the task.',
  },
  FP_INPUT_NOT_JSON: {
    title: 'A value cannot be stored as JSON',
    hint: 'Send plain JSON: no functions, symbols, BigInts, cycles, NaN or Infinity, no U+0000 or lone surrogates in strings. Turn maps, sets and class instances into plain objects first.',
  },
  FP_INPUT_TOO_LARGE: {
    title: 'A payload is over the size limit',
    hint: 'Store the data elsewhere and send a reference, or raise `payloadBytesMax`.',
  },
  FP_INPUT_TOO_DEEP: {
    title: 'A payload is nested too deeply',
    hint: 'Flatten the data: JSON deeper than the limit is refused before it costs the database anything.',
  },
  FP_OPTION_INVALID: {
    title: 'An option is malformed or out of range',
    hint: 'See the option’s range in docs/reference/defaults.md.',
  },
  FP_DURATION_INVALID: {
    title: 'A duration cannot be read or is out of range',
    hint: "Write durations as '500ms', '30s', '5m', '2h', '3d' or as a number of milliseconds.",
  },
  FP_SQS_NO_KEYS: {
    title: 'Nobody could sign a request to this SQS endpoint',
    hint: 'Give it access keys (`sqs.keys` of the config, or FENCEPOST_SQS_KEYS=id:secret), or, for development on this machine only, switch unsigned requests on: --unsigned.',
  },
  FP_SQS_UNSIGNED: {
    title: 'Unsigned requests are only for clients on this machine',
    hint: 'Listen on 127.0.0.1, or give the endpoint access keys and leave --unsigned out.',
  },
  FP_SQS_LEDGER: {
    title: 'Servers of one fleet that do not read what others write would store retried sends twice',
    hint: "Readers come before writers: bring every server to sendDedup 'read' first, then to 'on'; and back in the same steps.",
  },
  FP_SQS_UNAVAILABLE: {
    title: 'SQS cannot be served there',
    hint: 'Choose a host that is one of this machine’s, and a port that its user may listen on: --host, --port.',
  },
  FP_PORT_IN_USE: {
    title: 'The port is in use',
    hint: 'Stop what listens there, or choose another port with --port.',
  },
  FP_GATE_KEY_FAILED: {
    title: 'A function that tells the key of a gate has thrown',
    hint: 'Nothing was enqueued. Mend the function: it gets the validated input and must return a non-empty string.',
  },
  FP_GATE_UNKNOWN: {
    title: 'No job holds this gate or waits at it, and nobody has set its limit',
    hint: 'Run `fencepost gates` for the ones that are in use; a key begins with its kind: gate:, fifo: or group:.',
  },
  FP_TASK_UNKNOWN: {
    title: 'No such task is known here',
    hint: 'Define it with task(name, …) and pass it to the client or worker, or fix the spelling.',
  },
  FP_TASK_DUPLICATE: {
    title: 'Two tasks have the same name',
    hint: 'Task names are stored with the jobs: give each task its own name.',
  },
  FP_TASKS_MISSING: {
    title: 'There is no task to run',
    hint: 'Export what task(name, …) returns from the file.',
  },
  FP_MODULE_FAILED: {
    title: 'A file of yours could not be loaded',
    hint: 'Fix what the message names, and start again.',
  },
  FP_UNCAUGHT: {
    title: 'An error in a task’s code was not caught',
    hint: 'The jobs were given back before this process ended. Await every promise of a handler, and listen to `error` of what emits events.',
  },
  FP_QUEUE_UNKNOWN: {
    title: 'No such queue has ever held a job',
    hint: 'Run `fencepost queues` for the ones that exist, or fix the spelling.',
  },
  FP_ID_INVALID: {
    title: 'An id is not a UUID',
    hint: 'Ids look like 0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f. `fencepost jobs list` shows them.',
  },
  FP_ID_CONFLICT: {
    title: 'What has this id already differs',
    hint: 'The first one stands unchanged and nothing of this call was stored. Use a new id for what is different.',
  },
  FP_JOB_UNKNOWN: {
    title: 'There is no job with this id',
    hint: 'Check the id, the database and the schema; a purged job is gone for good.',
  },
  FP_JOB_NOT_SUCCEEDED: {
    title: 'It ended without success',
    hint: '`fencepost jobs show <id>` tells why; `fencepost jobs retry <id>` runs it again.',
  },
  FP_JOB_FINAL: {
    title: 'A succeeded job is final',
    hint: 'Enqueue a new job instead of retrying this one.',
  },
  FP_WORKFLOW_INVALID: {
    title: 'The definition of a workflow is not valid',
    hint: 'Mend what the message names; all that is wrong is there. `fencepost workflow validate <file>` checks a file.',
  },
  FP_PARAMETERS_INVALID: {
    title: 'The parameters do not fit the workflow',
    hint: 'Give what the message names; the workflow declares its parameters at its top.',
  },
  FP_WORKFLOW_UNKNOWN: {
    title: 'There is no workflow of this name',
    hint: 'Deploy it first: `fencepost workflow run <file>`, or fp.workflows.deploy().',
  },
  FP_RUN_UNKNOWN: {
    title: 'There is no run with this id',
    hint: '`fencepost workflow runs` lists them. Check the id, the database and the schema.',
  },
  FP_RUN_STATE: {
    title: 'The run is not in a state for that',
    hint: '`fencepost workflow show <id>` tells what it does.',
  },
  FP_ANSWER_INVALID: {
    title: 'The answer does not fit the form',
    hint: '`fencepost workflow show <id>` shows what is asked for.',
  },
  FP_REHEARSAL_INVALID: {
    title: 'The table of a rehearsal does not fit the workflow',
    hint: 'Mend what the message names; all that is wrong is there.',
  },
  FP_RESULT_TIMEOUT: {
    title: 'It did not end within the time waited',
    hint: 'It is not affected. Wait longer, or look at it: `fencepost jobs show <id>`, or `fencepost workflow show <id>` if it is a run.',
  },
  FP_LEASE_LOST: {
    title: 'This attempt no longer owns its job',
    hint: 'Nothing of this attempt was committed. The job was handed to another attempt or has ended; see `fencepost jobs show <id>`.',
  },
  FP_HANDLER_ABORTED: {
    title: 'This attempt was told to stop',
    hint: 'Its task’s timeout has passed, its job was cancelled, or its worker shuts down. End the handler; whatever it returns now does not count.',
  },
  FP_JOB_COMMITTED: {
    title: 'This attempt has already committed its job',
    hint: 'Call job.commit or job.finishIn once, as the last thing a handler does. The second transaction was rolled back.',
  },
  FP_JOB_PARKED: {
    title: 'The job was parked',
    hint: 'Not a failure: this error ends the handler, which starts again when the wait is over. Do not catch it.',
  },
  FP_SIGNAL_TIMEOUT: {
    title: 'The signal did not come in time',
    hint: 'Catch this error to go on without the signal, or wait longer.',
  },
  FP_TRANSACTION_NOT_COMMITTED: {
    title: 'The transaction given to job.finishIn did not commit',
    hint: 'Commit it before the handler returns; then the job is finished with it.',
  },
  FP_DATABASE_UNREACHABLE: {
    title: 'The database cannot be reached',
    hint: 'Check that the server runs and that DATABASE_URL names the right host, port, user and database.',
  },
  FP_DATABASE_UNSUPPORTED: {
    title: 'This PostgreSQL is too old',
    hint: 'Fencepost needs PostgreSQL 15 or newer.',
  },
  FP_DATABASE_PRIVILEGE: {
    title: 'The database user lacks a privilege',
    hint: 'Grant the privilege named in the message, or run `fencepost migrate` once as a user who has it.',
  },
  FP_DATABASE_ERROR: {
    title: 'The database refused a statement',
    hint: 'The cause holds the server’s own error. If it does not point at your data or your server, please report it.',
  },
  FP_SCHEMA_NAME_INVALID: {
    title: 'The schema name is not usable',
    hint: 'Use lower-case letters, digits and underscores, starting with a letter, 40 characters at most, not starting with pg_.',
  },
  FP_SCHEMA_MISSING: {
    title: 'The schema is not installed in this database',
    hint: 'Run `fencepost migrate`.',
  },
  FP_SCHEMA_OLDER: {
    title: 'The schema is older than this version of Fencepost',
    hint: 'Run `fencepost migrate`.',
  },
  FP_SCHEMA_NEWER: {
    title: 'The schema is newer than this version of Fencepost can use',
    hint: 'Upgrade the fencepost package in this process. Nothing was changed.',
  },
  FP_SCHEMA_FOREIGN: {
    title: 'The schema holds something that is not Fencepost',
    hint: 'Choose another schema name; Fencepost never touches tables it did not make.',
  },
  FP_TRANSACTION_ROLLED_BACK: {
    title: 'COMMIT was answered with ROLLBACK',
    hint: 'An error inside the transaction was caught and ignored; PostgreSQL then rolls everything back. Nothing was stored. Let errors leave the transaction.',
  },
  FP_TRANSACTION_ENDED: {
    title: 'The transaction was ended from inside',
    hint: 'Send no COMMIT or ROLLBACK in the work of a transaction: return to commit, throw to roll back.',
  },
  FP_COMMIT_UNKNOWN: {
    title: 'The connection was lost during COMMIT and the outcome could not be learnt',
    hint: 'Repeat the whole transaction with the same job ids: enqueues that did commit are recognised and not repeated.',
  },
  FP_EMBEDDED_UNAVAILABLE: {
    title: 'The embedded PostgreSQL cannot run here',
    hint: 'Set DATABASE_URL to a PostgreSQL 15 or newer, for example DATABASE_URL=postgres://user:password@localhost:5432/app',
  },
  FP_EMBEDDED_FAILED: {
    title: 'The embedded PostgreSQL did not start',
    hint: 'The last lines of its log are in the message. Setting DATABASE_URL avoids the embedded server.',
  },
  FP_METRICS_UNAVAILABLE: {
    title: 'The metrics cannot be served',
    hint: 'Choose another port with `--metrics <port>` or `metrics: { port }`, or leave metrics out.',
  },
  FP_CLOSED: {
    title: 'This client has been closed',
    hint: 'Create a new one with fencepost().',
  },
  FP_LAB_UNKNOWN: {
    title: 'No such failure mode is in the lab',
    hint: 'Run `fencepost lab` for the list.',
  },
  FP_PEER_UNKNOWN: {
    title: 'The lab knows no such peer',
    hint: 'There are pg-boss, graphile-worker, bullmq, fencepost, and all.',
  },
  FP_PEER_MISSING: {
    title: 'The peers to compare with are not installed',
    hint: 'Run it from a clone of the repository: `npm ci --prefix bench/peers` installs them, beside and not among our own dependencies.',
  },
  FP_PEER_FAILED: {
    title: 'The plays with a peer came to no end',
    hint: 'The last words of the process are in the message. Check that the database can be reached and that its user may create schemas.',
  },
  FP_REDIS_MISSING: {
    title: 'There is no Redis to play with',
    hint: 'BullMQ needs one, which the command starts by itself: install redis-server (on Debian: `apt-get install redis-server`), so that it is found in PATH.',
  },
  FP_USAGE: {
    title: 'The command line cannot be understood',
    hint: 'Add --help to see what the command takes.',
  },
} as const

export type ErrorCode = keyof typeof catalogue

export const errorCatalogue: Readonly<Record<ErrorCode, { readonly title: string; readonly hint: string }>> = catalogue

export class FencepostError extends Error {
  readonly code: ErrorCode
  readonly hint: string

  constructor(code: ErrorCode, detail?: string, options: { cause?: unknown; hint?: string } = {}) {
    const { title, hint } = catalogue[code]
    super(detail ? `${title}: ${readable(detail)}` : title, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'FencepostError'
    this.code = code
    this.hint = options.hint ?? hint
  }
}

const detailLengthMax = 20_000
const longLine = /(.{2000}).+/g

/** A name may be a megabyte of someone's text: a message says enough of it to find it, and fits a log. */
function readable(detail: string): string {
  const start = detail.length > detailLengthMax ? `${detail.slice(0, detailLengthMax)}…` : detail
  return start.replaceAll(longLine, '$1…')
}

/** A value of the caller’s as a message shows it: short, on one line, and never an error in itself. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value)
    case 'object':
      return value === null ? 'null' : 'an object'
    default:
      return `a ${typeof value}`
  }
}
