import { newJobId } from '../job/job-id.js'
import { cancelMoveTask, listMoveTasks, startMoveTask } from '../store/sqs-move-tasks.js'
import { listSourceNames, readQueue } from '../store/sqs-queues.js'
import { arnOf, type Desk } from './desk.js'
import { invalidParameter } from './rules/parameter-errors.js'
import { isFifoName, nameFromArn } from './rules/queue-name.js'
import type { SqsAction } from './sqs-call.js'
import { SqsError } from './sqs-error.js'

type MoveTaskAction = 'StartMessageMoveTask' | 'CancelMessageMoveTask' | 'ListMessageMoveTasks'

const perSecondMax = 500
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const resultsMax = 10

/** Bringing messages back from a dead-letter queue. */
export function moveTaskActions(desk: Desk): { readonly [A in MoveTaskAction]: SqsAction<A> } {
  const { db } = desk
  const existing = async (arn: string, parameter: string): Promise<string> => {
    const name = nameFromArn(arn)
    if (name === undefined) throw invalidParameter(parameter, arn, 'It must be the ARN of a queue.')
    if (!(await readQueue(db, name))) {
      throw new SqsError(
        'ResourceNotFoundException',
        `The resource that you specified for the ${parameter} parameter doesn't exist.`,
      )
    }
    return name
  }
  return {
    StartMessageMoveTask: async ({ input }) => {
      const source = await existing(input.SourceArn, 'SourceArn')
      const destination =
        input.DestinationArn === undefined ? null : await existing(input.DestinationArn, 'DestinationArn')
      if (destination !== null && isFifoName(destination) !== isFifoName(source)) {
        throw invalidParameter('DestinationArn', input.DestinationArn ?? '', 'It must be a queue of the same type.')
      }
      const perSecond = input.MaxNumberOfMessagesPerSecond ?? null
      if (perSecond !== null && !(perSecond >= 1 && perSecond <= perSecondMax)) {
        throw invalidParameter('MaxNumberOfMessagesPerSecond', perSecond, `It must be between 1 and ${perSecondMax}.`)
      }
      if ((await listSourceNames(db, source, '', 1)).length === 0) {
        throw invalidParameter('SourceArn', input.SourceArn, 'Source queue must be configured as a Dead Letter Queue.')
      }
      const id = newJobId()
      if (!(await startMoveTask(db, { id, source, destination, perSecond }))) {
        throw new SqsError(
          'UnsupportedOperation',
          'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
        )
      }
      return { TaskHandle: handleOf(id, source) }
    },
    CancelMessageMoveTask: async ({ input }) => {
      const { id, source } = taskOf(input.TaskHandle)
      const moved = await cancelMoveTask(db, id, source)
      if (moved === undefined) {
        throw new SqsError('ResourceNotFoundException', 'The task handle is not that of a task that runs.')
      }
      return { ApproximateNumberOfMessagesMoved: moved }
    },
    ListMessageMoveTasks: async ({ input }) => {
      const source = await existing(input.SourceArn, 'SourceArn')
      const limit = input.MaxResults ?? 1
      if (!(limit >= 1 && limit <= resultsMax)) {
        throw invalidParameter('MaxResults', limit, `MaxResults must be between 1 and ${resultsMax}.`)
      }
      const tasks = await listMoveTasks(db, source, limit)
      return {
        Results: tasks.map((task) => ({
          // Only a task that runs can be cancelled, and only then AWS tells its handle.
          ...(task.status === 'RUNNING' && { TaskHandle: handleOf(task.id, source) }),
          Status: task.status,
          SourceArn: input.SourceArn,
          ...(task.destination !== null && { DestinationArn: arnOf(desk, task.destination) }),
          ...(task.perSecond !== null && { MaxNumberOfMessagesPerSecond: task.perSecond }),
          ApproximateNumberOfMessagesMoved: task.moved,
          ApproximateNumberOfMessagesToMove: task.toMove,
          ...(task.failure !== null && { FailureReason: task.failure }),
          StartedTimestamp: task.startedAt.getTime(),
        })),
      }
    },
  }
}

/** The source is in it, so that rights can be checked before anything is looked up. */
function handleOf(id: string, source: string): string {
  return Buffer.from(JSON.stringify({ id, source })).toString('base64url')
}

export function taskOf(handle: string): { readonly id: string; readonly source: string } {
  try {
    const told = JSON.parse(Buffer.from(handle, 'base64url').toString()) as { id?: unknown; source?: unknown }
    const { id, source } = told
    if (typeof id === 'string' && uuid.test(id) && typeof source === 'string' && /^[\w.-]+$/.test(source)) {
      return { id, source }
    }
  } catch {
    // Said below.
  }
  throw invalidParameter('TaskHandle', handle.slice(0, 100), 'It is not a task handle.')
}
