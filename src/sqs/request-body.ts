import type { IncomingMessage } from 'node:http'
import { SqsError } from './sqs-error.js'

/** Bytes of request bodies that are in memory at this moment, over all connections of a server. */
export interface BodyBudget {
  readonly bodyBytesMax: number
  readonly allBodiesBytesMax: number
  usedBytes: number
}

/** Undefined if the caller went away in the middle. Whoever reads a body gives it back to the budget. */
export async function readBody(request: IncomingMessage, budget: BodyBudget): Promise<Buffer | undefined> {
  if (isTooLarge(request, budget)) throw tooLarge(budget)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    // The default would destroy the connection with the stream, before the answer is sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      budget.usedBytes += chunk.length
      if (bytes > budget.bodyBytesMax) throw tooLarge(budget)
      if (budget.usedBytes > budget.allBodiesBytesMax) throw tooManyBodies()
    }
  } catch (error) {
    budget.usedBytes -= bytes
    if (error instanceof SqsError) throw error
    return undefined
  }
  return Buffer.concat(chunks, bytes)
}

export function isTooLarge(request: IncomingMessage, { bodyBytesMax }: Pick<BodyBudget, 'bodyBytesMax'>): boolean {
  return Number(request.headers['content-length'] ?? 0) > bodyBytesMax
}

function tooLarge({ bodyBytesMax }: BodyBudget): SqsError {
  return new SqsError('RequestEntityTooLarge', `The body of the request is longer than ${bodyBytesMax} bytes.`)
}

function tooManyBodies(): SqsError {
  return new SqsError('ServiceUnavailable', 'The server is reading too many large requests at once. Try again.')
}
