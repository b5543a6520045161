import type { SqsError } from '../sqs-error.js'
import type { DecodedRequest, HttpAnswer, HttpRequest, Protocol } from './http-message.js'
import { decodeJsonRequest, encodeJsonError, encodeJsonOutput } from './json.js'
import type { ActionName, OutputOf } from './model.js'
import { decodeQueryRequest, encodeQueryError, encodeQueryOutput } from './query.js'

/** A request speaks JSON if it says so in either of two ways; everything else is the query protocol. */
export function protocolOf({ headers }: Pick<HttpRequest, 'headers'>): Protocol {
  if (headers['x-amz-target'] !== undefined) return 'json'
  return /^application\/(x-amz-)?json/i.test(headers['content-type'] ?? '') ? 'json' : 'query'
}

export function decodeRequest(request: HttpRequest, baseUrl: string): DecodedRequest {
  return protocolOf(request) === 'json' ? decodeJsonRequest(request) : decodeQueryRequest(request, baseUrl)
}

export function encodeOutput(
  protocol: Protocol,
  action: ActionName,
  output: OutputOf<ActionName>,
  requestId: string,
): HttpAnswer {
  return (protocol === 'json' ? encodeJsonOutput : encodeQueryOutput)(action, output, requestId)
}

export function encodeError(protocol: Protocol, error: SqsError, requestId: string): HttpAnswer {
  return (protocol === 'json' ? encodeJsonError : encodeQueryError)(error, requestId)
}
