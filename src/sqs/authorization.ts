import { nameFromArn, nameFromUrl } from './rules/queue-name.js'
import { jsonObject } from './rules/redrive-policy.js'
import { keyOf, requireAllowed, requireAllowedToFeed } from './rules/rights.js'
import { verifySignature } from './sigv4.js'
import { taskOf } from './move-task-actions.js'
import type { SqsCall } from './sqs-call.js'
import { SqsError } from './sqs-error.js'
import type { SqsSettings } from './sqs-options.js'
import type { HttpRequest } from './wire/http-message.js'

const anonymous = 'anonymous'

/** Who calls: the access key that signed the request. */
export function authorizer(settings: SqsSettings): (request: HttpRequest) => string {
  const secrets = new Map(Object.entries(settings.keys).map(([id, { secret }]) => [id, secret]))
  return (request) => {
    if (settings.unsigned) return unsignedCaller(request)
    const { signedRegion: region, skewMs } = settings
    return verifySignature({ ...request, now: new Date(), keys: secrets, skewMs, region }).accessKeyId
  }
}

/**
 * A web page that somebody on this machine looks at can send requests here, too. It cannot help saying where it is from,
 * unless its own name was made to lead here: then that name is the host.
 */
function unsignedCaller({ headers }: HttpRequest): string {
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    throw new SqsError('AccessDeniedException', 'Unsigned requests are not taken from web pages.')
  }
  if (headers.host !== undefined && !ownHost.test(headers.host)) {
    throw new SqsError(
      'AccessDeniedException',
      'Unsigned requests are only taken under a name of this machine, such as localhost.',
    )
  }
  return anonymous
}

/** Also as containers on this machine call it. */
const ownHost = /^(([a-z0-9-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\]|host\.(docker|containers)\.internal)(:\d{1,5})?$/i

/** Whether the caller may do this with that queue. */
export function checkRights({ keys }: SqsSettings, call: SqsCall): void {
  const key = keyOf(keys, call.principal)
  if (!key) return
  requireAllowed(call.principal, key, call.action, queueNameOf(call))
  const fed = fedQueueOf(call)
  if (fed !== undefined) requireAllowedToFeed(call.principal, key, call.action, fed)
}

/** A queue that gets messages by this call though it is not the one that the call is about. */
function fedQueueOf(call: SqsCall): string | undefined {
  switch (call.action) {
    case 'StartMessageMoveTask':
      return call.input.DestinationArn === undefined ? undefined : nameFromArn(call.input.DestinationArn)
    case 'CreateQueue':
    case 'SetQueueAttributes': {
      const arn = jsonObject(call.input.Attributes?.['RedrivePolicy'] ?? '')?.['deadLetterTargetArn']
      return typeof arn === 'string' ? nameFromArn(arn) : undefined
    }
    default:
      return undefined
  }
}

function queueNameOf(call: SqsCall): string | undefined {
  switch (call.action) {
    case 'ListQueues':
      return undefined
    case 'CreateQueue':
    case 'GetQueueUrl':
      return call.input.QueueName
    case 'StartMessageMoveTask':
    case 'ListMessageMoveTasks':
      return nameFromArn(call.input.SourceArn) ?? call.input.SourceArn
    case 'CancelMessageMoveTask':
      return taskOf(call.input.TaskHandle).source
    default:
      return nameFromUrl(call.input.QueueUrl)
  }
}
