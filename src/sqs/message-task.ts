import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JobContext } from '../task/job-context.js'
import { checkedName, checkIsOptions } from '../task/options.js'
import type { Stored } from '../task/stored.js'
import { checkRun, checkSchema, type Task, type TaskOptions, task } from '../task/task.js'
import { envelopedMessage, messageOf } from './message-envelope.js'
import type { Json } from '../job/json.js'

/** What came along with the body of a message. */
export interface Message {
  readonly body: string
  /** The access key that sent it; `fencepost` for a job that was enqueued. */
  readonly sender: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
  readonly traceHeader: string | undefined
}

export type MessageAttribute =
  | { readonly type: string; readonly text: string }
  | { readonly type: string; readonly bytes: Uint8Array }

export interface MessageTaskOptions<Input extends StandardSchemaV1, Result>
  extends Pick<TaskOptions<Input, undefined, Result>, 'input' | 'retry' | 'losses' | 'timeout' | 'lease' | 'priority'> {
  /** Gets the body, parsed if it is JSON and checked by `input`, and what came along with it. */
  readonly run: (
    input: StandardSchemaV1.InferOutput<Input>,
    job: JobContext,
    message: Message,
  ) => Promise<Result> | Result
}

interface Opened<Input extends StandardSchemaV1> {
  readonly input: StandardSchemaV1.InferOutput<Input>
  readonly message: Message
}

/**
 * A task for the messages of an SQS queue: give it to a worker like any other task, and it takes its share of the messages
 * that clients of SQS send there. Jobs that are enqueued for it are received by such clients as JSON, too.
 */
export function messageTask<Input extends StandardSchemaV1, Result>(
  queue: string,
  options: MessageTaskOptions<Input, Result>,
): Task<StandardSchemaV1.InferInput<Input>, Stored<Awaited<Result>>> {
  checkedName(queue, 'The queue’s name')
  const what = `messageTask ${queue}`
  checkIsOptions(options, what)
  const { input, run, ...rest } = options
  // The task has ones of its own, around these.
  checkRun(run, `run of ${what}`)
  checkSchema(input, `input of ${what}`)
  return task<StandardSchemaV1<StandardSchemaV1.InferInput<Input>, Opened<Input>>, undefined, Result>(queue, {
    ...rest,
    queue,
    input: opening(input),
    run: (content: Opened<Input>, job: JobContext) => run(content.input, job, content.message),
  })
}

/** Takes a payload as it is stored, of a message or of a job, and checks what is in it. */
function opening<Input extends StandardSchemaV1>(
  schema: Input,
): StandardSchemaV1<StandardSchemaV1.InferInput<Input>, Opened<Input>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'fencepost',
      validate: async (payload) => {
        const enveloped = envelopedMessage(payload)
        const checked = await schema['~standard'].validate(enveloped ? parsed(enveloped.body) : payload)
        return checked.issues ? checked : { value: { input: checked.value, message: opened(payload) } }
      },
    },
  }
}

function opened(payload: unknown): Message {
  const { body, sender, attributes = {}, groupId, deduplicationId, traceHeader } = messageOf(payload as Json)
  return {
    body,
    sender,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, { type, text = '', base64 }]) => [
        name,
        base64 === undefined ? { type, text } : { type, bytes: Buffer.from(base64, 'base64') },
      ]),
    ),
    groupId,
    deduplicationId,
    traceHeader,
  }
}

/** Text that is no JSON is taken as it is. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
