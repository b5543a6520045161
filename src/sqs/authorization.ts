import { isIP } from 'node:net'
import { nameFromArn, nameFromUrl } from './rules/queue-name.js'
import { keyOf, requireAllowed } from './rules/rights.js'
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

/** A web page that somebody on this machine looks at can send requests here, too; it cannot help saying where it is from. */
function unsignedCaller({ headers }: HttpRequest): string {
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    throw new SqsError('AccessDeniedException', 'Unsigned requests are not taken from web pages.')
  }
  if (!isOurName(headers.host ?? '')) {
    throw new SqsError(
      'AccessDeniedException',
      'Unsigned requests are taken for localhost, an address, or a name that the internet does not have.',
    )
  }
  return anonymous
}

/**
 * A page whose own name leads to this machine says nothing of where it is from: to the browser it is at home. But it needs a name
 * that somebody could register.
 */
function isOurName(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || /^[^.]*$|\.(localhost|internal|local|test)$/.test(name)
}

/** Whether the caller may do this with that queue. */
export function checkRights({ keys }: SqsSettings, call: SqsCall): void {
  const key = keyOf(keys, call.principal)
  if (!key) return
  requireAllowed(call.principal, key, call.action, queueNameOf(call))
  // Who brings messages to another queue than they came from sends them there.
  if (call.action === 'StartMessageMoveTask' && call.input.DestinationArn !== undefined) {
    const { DestinationArn: arn } = call.input
    requireAllowed(call.principal, key, 'SendMessage', nameFromArn(arn) ?? arn)
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
