export {
  type AnyTask,
  type Enqueued,
  type EnqueueOptions,
  type Fencepost,
  type FencepostOptions,
  fencepost,
} from './client/fencepost.js'
export type { JobOptions } from './client/new-job.js'
export type { StartedRun, StartOptions, Workflows } from './client/workflows.js'
export { defineConfig, type WorkerConfig } from './config/config.js'
export { type ErrorCode, FencepostError } from './errors.js'
export type { EventName, FencepostEvents } from './events.js'
export type { Json } from './job/json.js'
export type { Ending, Outcome, Place } from './job/places.js'
export { NonRetryable, RetryAfter } from './job/verdict.js'
export { attachLogger, type Logger } from './observe/log.js'
export { collectMetrics, type Metrics } from './observe/metrics.js'
export { type MetricsOptions, type MetricsServer, serveMetrics } from './observe/metrics-server.js'
export { type Message, type MessageAttribute, type MessageTaskOptions, messageTask } from './sqs/message-task.js'
export type { AccessKeys, KeyRights, Right } from './sqs/rules/rights.js'
export type { SqsOptions } from './sqs/sqs-options.js'
export type { SqsServer } from './sqs/sqs-server.js'
export type { CancelAnswer, RetryAnswer, WakeAnswer } from './store/control.js'
export type { Queryable } from './store/database.js'
export type { EnqueueAnswer } from './store/enqueue.js'
export type { GateDetail, GateHolder, GateView, GateWaiter, SkipAnswer } from './store/gates.js'
export type { RunDetail, RunView, TaskRunResult, TaskRunView, WorkflowView } from './store/runs.js'
export type { AttemptView, JobDetail, JobView, QueueView } from './store/read.js'
export type { Duration } from './task/duration.js'
export type { GateOptions, GroupOptions, JobGroup, StoredGate, TierLimits } from './task/gate.js'
export type { PauseTarget } from './task/gate-key.js'
export type { RetryOptions } from './task/retry-policy.js'
export type { JobContext, Reconciled, StepContext, StepOptions, Transaction } from './task/job-context.js'
export { type HttpInput, type HttpResult, type HttpTaskOptions, httpTask } from './task/http-task.js'
export { type Task, type TaskOptions, task } from './task/task.js'
export type { Worker, WorkOptions } from './worker/worker.js'
export { type ExpressionText, type Templated, type Workflow, workflow } from './workflow/builder.js'
export type { Definition } from './workflow/definition.js'
export {
  type MockedItems,
  type MockedResult,
  type MockedResults,
  type MockedTask,
  type RehearsalCase,
  type Rehearsed,
  rehearse,
} from './workflow/rehearsal.js'
export type { RunState, Status } from './workflow/run.js'
export { readWorkflowFile, readWorkflowText } from './workflow/workflow-file.js'
