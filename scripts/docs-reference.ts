import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCatalogue } from '../src/errors.js'
import { eventNames } from '../src/events.js'
import { defaults, limits } from '../src/limits.js'
import { packageRoot } from '../src/package-root.js'
import { durationText } from '../src/task/duration.js'
import { troubleCodes } from '../src/workflow/trouble-codes.js'

// Writes docs/reference/*.md from the code. test/docs/reference.test.ts fails when they are out of date.

interface Default {
  /** Where a user says otherwise. */
  readonly option: string
  readonly meaning: string
  readonly range: string
}

const days = (ms: number) => durationText(ms)
const anyDuration = `0 to ${days(limits.durationMsMax)}`
const name = `1 to ${limits.nameLengthMax} characters, no control characters`

/** A default that is not described here is a type error. */
const defaultsDescribed: Readonly<Record<keyof typeof defaults, Default>> = {
  schema: {
    option: '`schema` of `fencepost()`, `--schema`',
    meaning: 'The schema that holds the tables and functions.',
    range: `a–z, 0–9 and _, starting with a letter, up to ${limits.schemaLengthMax} characters, not \`pg_…\``,
  },
  queue: { option: '`queue` of a task or a job', meaning: 'The queue that a job waits in.', range: name },
  priority: {
    option: '`priority` of a task or a job',
    meaning: 'Smaller runs first; every seventeenth turn of a worker takes the oldest job, so that none starves.',
    range: `${limits.priorityMin} to ${limits.priorityMax}`,
  },
  retryLimit: {
    option: '`retry.limit` of a task',
    meaning: 'How many failures are followed by another try.',
    range: `0 to ${number(limits.retryLimitMax)}`,
  },
  retryBackoff: {
    option: '`retry.backoff` of a task',
    meaning: 'How the delay grows from one failure to the next.',
    range: '`fixed`, `linear`, `exponential`',
  },
  retryDelayMs: {
    option: '`retry.delay` of a task',
    meaning: 'The delay after the first failure.',
    range: anyDuration,
  },
  retryDelayMsMax: {
    option: '`retry.max` of a task',
    meaning: 'No delay is longer than this. If `retry.delay` is longer and `retry.max` is not given, that counts.',
    range: anyDuration,
  },
  retryJitter: {
    option: '`retry.jitter` of a task',
    meaning: 'The share of the delay that is drawn at random; it only ever shortens the delay.',
    range: '0 to 1',
  },
  lossesMax: {
    option: '`losses` of a task',
    meaning: 'How many times a worker may die, or lose its lease, under a job that is then tried again.',
    range: `0 to ${number(limits.lossesMax)}`,
  },
  leaseMs: {
    option: '`lease` of a task',
    meaning: 'How long a job stays with a worker that no longer sends heartbeats.',
    range: `${days(limits.leaseMsMin)} to ${days(limits.leaseMsMax)}`,
  },
  timeoutMs: {
    option: '`timeout` of a task',
    meaning: 'How long a handler may run; then it is aborted, and that is a failure.',
    range: `${days(limits.timeoutMsMin)} to ${days(limits.timerMsMax)}, or \`false\` for no limit`,
  },
  payloadBytesMax: {
    option: '`payloadBytesMax` of `fencepost()`',
    meaning: 'The size of an input, a result or a signal’s payload, as JSON in UTF-8.',
    range: `1 byte to ${bytes(limits.payloadBytesMax)}`,
  },
  poolSize: {
    option: '`poolSize` of `fencepost()`',
    meaning: 'How many connections a client opens at most.',
    range: `1 to ${number(limits.poolSizeMax)}`,
  },
  concurrency: {
    option: '`concurrency` of `work()`',
    meaning: 'How many handlers run at the same time in one worker.',
    range: `1 to ${number(limits.concurrencyMax)}`,
  },
  pollMs: {
    option: '`poll` of `work()`',
    meaning: 'How often an idle worker looks for work.',
    range: `${days(limits.pollMsMin)} to ${days(limits.timerMsMax)}`,
  },
  shutdownGraceMs: {
    option: '`grace` of `work()`',
    meaning: 'How long `stop()` waits for running handlers before it aborts them and gives their jobs back.',
    range: `0 to ${days(limits.timerMsMax)}`,
  },
  databaseRetryMs: {
    option: '`databaseRetry` of `fencepost()`',
    meaning: 'How long a move is repeated while the database is away.',
    range: anyDuration,
  },
  metricsPort: {
    option: '`port` of `serveMetrics()`, `metrics.port` of a config, `--metrics`',
    meaning: 'Where the metrics are served, if they are asked for.',
    range: `0 (any free one) to ${limits.portMax}`,
  },
  metricsHost: {
    option: '`host` of `serveMetrics()`, `metrics.host` of a config, `--metrics`',
    meaning: 'From where the metrics can be read: from this machine only, or `0.0.0.0` for everywhere.',
    range: 'a name or an address of this machine',
  },
  sqsPort: {
    option: '`port` of `serveSqs()`, `sqs.port` of a config, `--port` of `fencepost sqs`',
    meaning: 'Where SQS is spoken.',
    range: `0 (any free one) to ${limits.portMax}`,
  },
  sqsHost: {
    option: '`host` of `serveSqs()`, `sqs.host` of a config, `--host` of `fencepost sqs`',
    meaning: 'From where it can be reached: from this machine only, or `0.0.0.0` for everywhere.',
    range: 'a name or an address of this machine',
  },
  sqsLedgerMs: {
    option: '`sendLedger` of `serveSqs()`, `sqs.sendLedger` of a config',
    meaning: 'How long a send that comes again is told what became of the first.',
    range: `${days(limits.sqsLedgerMsMin)} to ${days(limits.timerMsMax)}`,
  },
  sqsPurgeEveryMs: {
    option: '`purgeEvery` of `serveSqs()`, `sqs.purgeEvery` of a config',
    meaning: 'How soon a queue may be purged again.',
    range: `0 to ${days(limits.timerMsMax)}`,
  },
  sqsClockSkewMs: {
    option: '`clockSkew` of `serveSqs()`, `sqs.clockSkew` of a config',
    meaning: 'How far the clock of a client that signs its requests may be off.',
    range: `1s to ${days(limits.timerMsMax)}`,
  },
}

/** A limit that is not described here is a type error. */
const limitsDescribed: Readonly<Record<keyof typeof limits, string>> = {
  payloadBytesMax: 'The most that `payloadBytesMax` can be raised to.',
  payloadDepthMax: 'How deeply an input, a result or a signal’s payload may be nested.',
  enqueueManyMax: 'Jobs in one `enqueueMany()`.',
  enqueueManyBytesMax: 'The inputs of one `enqueueMany()` together.',
  nameLengthMax: 'Characters in the name of a task, a queue, a worker or a signal, or in a reason.',
  schemaLengthMax: 'Characters in the name of the schema.',
  gateKeyLengthMax: 'Characters in the key of a gate, or in the id of a group.',
  gateLimitMax: 'The highest limit of a gate.',
  gatesMax: 'Gates of one job.',
  activationsMax: 'Activations of tasks in one run of a workflow.',
  runDepthMax: 'Runs that are items of each other.',
  priorityMin: 'The most urgent priority.',
  priorityMax: 'The least urgent priority.',
  retryLimitMax: 'The most that `retry.limit` can be.',
  lossesMax: 'The most that `losses` can be.',
  durationMsMax: 'The longest delay that the database keeps.',
  timerMsMax: 'The longest time that a process keeps: timeouts, polls, graces and waits for a result.',
  timeoutMsMin: 'The shortest timeout.',
  leaseMsMin: 'The shortest lease.',
  leaseMsMax: 'The longest lease.',
  pollMsMin: 'The shortest poll.',
  poolSizeMax: 'Connections of one client.',
  concurrencyMax: 'Handlers of one worker at the same time.',
  portMax: 'The largest port.',
  sqsLedgerMsMin: 'The least time for which a send that comes again is recognized.',
  errorTextLengthMax: 'Characters of an error’s message, stack, code or cause that are stored; the rest is cut off.',
  expressionLengthMax: 'Characters of one `{{ expression }}` of a workflow.',
  expressionDepthMax: 'How deeply the parts of an expression may be nested.',
  expressionNodesMax: 'Parts of one expression: names, values, operators, calls.',
  expressionStepsMax: 'Steps of one evaluation; [expressions](expressions.md#limits) says what a step is.',
  expressionPatternMax: 'Characters of a pattern of `matches()`, and the states that it is compiled to.',
  expressionsKeptLengthMax: 'Characters of the expressions that a process keeps compiled.',
  definitionBytesMax: 'The definition of a workflow, as a file or as JSON.',
  definitionAliasedMax: 'Values that the aliases of a YAML file stand for.',
  workflowTasksMax: 'Tasks of one workflow.',
  workflowTransitionsMax: 'Transitions of one workflow, one for each task in a `do`.',
  workflowFieldsMax: 'Parameters of one workflow, its vars, or fields of one form.',
  workflowTaskNameLengthMax: 'Characters in the name of a task of a workflow, or of a parameter, a var or a field.',
  batchSizeMax: 'The most that `batch_size` can be.',
}

/** The pages by file name. */
export function referencePages(): ReadonlyMap<string, string> {
  return new Map([
    ['defaults.md', defaultsPage()],
    ['errors.md', errorsPage()],
    ['events.md', eventsPage()],
  ])
}

const generated = 'Generated by `npm run docs:reference` from the code; do not edit.'

function defaultsPage(): string {
  const keys = Object.keys(defaults) as (keyof typeof defaults)[]
  const rows = keys.map((key) => {
    const { option, meaning, range } = defaultsDescribed[key]
    return [option, shownValue(key, defaults[key]), meaning, range]
  })
  const limitKeys = Object.keys(limits) as (keyof typeof limits)[]
  const limitRows = limitKeys.map((key) => [`\`${key}\``, shownValue(key, limits[key]), limitsDescribed[key]])
  return page('Defaults and limits', [
    'What holds when nothing is said, and how far it can be changed. Durations are written as `500ms`, `30s`, `5m`, `2h`, `3d`, `1w`, or as a number of milliseconds. Anything out of range is refused with `FP_OPTION_INVALID`, `FP_DURATION_INVALID` or one of the other codes in [errors](errors.md), before it costs the database anything.',
    '## Defaults',
    table(['option', 'default', 'meaning', 'range'], rows),
    '## Limits',
    'These are fixed.',
    table(['limit', 'value', 'meaning'], limitRows),
  ])
}

function errorsPage(): string {
  const entries = Object.entries(errorCatalogue).map(([code, { title, hint }]) => `## ${code}\n\n${title}.\n\n${hint}`)
  return page('Errors', [
    'Every error that Fencepost throws is a `FencepostError` with a stable `code`, a `message` that says what happened, a `hint` that says what to do next, and, where there is one, the original error as its `cause`. Expected endings (`existing`, `already`, `stale`, …) are not errors: calls answer them as values.',
    ...entries,
    '# Codes of runs',
    'What a run or a task run stores in its `error` has one of these codes, or that of the error which a handler has thrown. A workflow can ask for it: `{{ error.code }}`.',
    table(
      ['code', 'meaning'],
      Object.entries(troubleCodes).map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
  ])
}

/** The types of the events exist only in the source, so that is what is read. */
function eventsPage(): string {
  const source = readFileSync(join(packageRoot, 'src', 'events.ts'), 'utf8')
  const found = source.matchAll(/^ {2}\/\*\* (?<meaning>.+) \*\/\n {2}(?<event>\w+): \{\s+(?<members>[^{}]+?)\s+\}$/gm)
  const described = new Map([...found].map(({ groups }) => [groups?.['event'], groups]))
  const rows = eventNames.map((event) => {
    const groups = described.get(event)
    if (!groups)
      throw new Error(`src/events.ts does not describe the event ${event} in the form that this script reads`)
    const members = (groups['members'] as string).split(/; |\n\s*/).map((member) => `\`${member}\``)
    return [`\`${event}\``, groups['meaning'] as string, members.join('<br>')]
  })
  return page('Events', [
    '`fp.on(event, listener)` tells what this process did or saw, and answers a function that stops it. Events are for logs, metrics and alarms, not for decisions: every ending of a lease but a first-try success is also a row of `attempt`, and that is where to look for the truth. A listener that throws or rejects does no harm; its error becomes an `error` event.',
    table(['event', 'when', 'what it carries'], rows),
  ])
}

function page(title: string, parts: readonly string[]): string {
  return `${[`# ${title}`, generated, ...parts].join('\n\n')}\n`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function shownValue(key: string, value: string | number): string {
  if (typeof value === 'string') return `\`${value}\``
  if (/port/i.test(key)) return String(value) // no thousands: it is a name
  if (/Bytes/.test(key)) return bytes(value)
  return /Ms(Max|Min)?$/.test(key) ? days(value) : number(value)
}

function bytes(value: number): string {
  return `${value / 1_048_576} MiB`
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = join(packageRoot, 'docs', 'reference')
  mkdirSync(directory, { recursive: true })
  for (const [file, text] of referencePages()) writeFileSync(join(directory, file), text)
}
