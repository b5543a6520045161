/** What holds when nothing is said. docs/reference/defaults.md is generated from this file. */
export const defaults = {
  schema: 'fencepost',
  queue: 'default',
  priority: 0,
  retryLimit: 5,
  retryBackoff: 'exponential',
  retryDelayMs: 2_000,
  retryDelayMsMax: 300_000,
  retryJitter: 0.2,
  lossesMax: 5,
  leaseMs: 30_000,
  timeoutMs: 900_000,
  payloadBytesMax: 1_048_576,
  poolSize: 10,
  concurrency: 10,
  pollMs: 500,
  shutdownGraceMs: 30_000,
  databaseRetryMs: 30_000,
  metricsPort: 9_464,
  metricsHost: '127.0.0.1',
  sqsPort: 9_324,
  sqsHost: '127.0.0.1',
  /** How long a send that comes again is told what became of the first. */
  sqsLedgerMs: 900_000,
  sqsPurgeEveryMs: 60_000,
  sqsClockSkewMs: 900_000,
} as const

/** A limit on everything. Beyond one of these a call is refused before it costs the database anything. */
export const limits = {
  payloadBytesMax: 64 * 1_048_576,
  payloadDepthMax: 100,
  enqueueManyMax: 10_000,
  enqueueManyBytesMax: 128 * 1_048_576,
  nameLengthMax: 200,
  schemaLengthMax: 40,
  /** In characters: a key is part of an index. */
  gateKeyLengthMax: 500,
  gateLimitMax: 1_000_000,
  gatesMax: 8,
  /** Activations of tasks in one run: a cycle that never ends must. */
  activationsMax: 10_000,
  /** Runs that are items of each other: a workflow that calls itself must end, too. */
  runDepthMax: 32,
  priorityMin: -100,
  priorityMax: 100,
  retryLimitMax: 10_000,
  lossesMax: 10_000,
  durationMsMax: 3650 * 86_400_000,
  /** For what is timed in this process: Node’s timers overflow after 24.8 days and then fire at once. */
  timerMsMax: 24 * 86_400_000,
  timeoutMsMin: 1,
  leaseMsMin: 1_000,
  leaseMsMax: 86_400_000,
  pollMsMin: 10,
  poolSizeMax: 1_000,
  concurrencyMax: 10_000,
  portMax: 65_535,
  sqsLedgerMsMin: 300_000,
  definitionBytesMax: 1_048_576,
  /** An alias of a few bytes can stand for any number of them. */
  definitionAliasedMax: 50_000,
  workflowTasksMax: 1_000,
  workflowTransitionsMax: 10_000,
  workflowFieldsMax: 200,
  /** In characters: it is part of the ids and keys that are made from it. */
  workflowTaskNameLengthMax: 100,
  batchSizeMax: 10_000,
  errorTextLengthMax: 8_000,
  /** Of one {{ expression }}, in characters. */
  expressionLengthMax: 10_000,
  expressionDepthMax: 100,
  expressionNodesMax: 5_000,
  /** Of one evaluation. A step takes 10 to 60 ns on a machine that is not overloaded. */
  expressionStepsMax: 2_000_000,
  /** Of a pattern of matches(), in characters, and of the states that it is compiled to. */
  expressionPatternMax: 1_000,
  /** Twice: of expressions and of text around them, compiled. It takes up to 100 times as much memory. */
  expressionsKeptLengthMax: 500_000,
} as const
