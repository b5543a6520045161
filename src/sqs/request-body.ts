import type { IncomingMessage } from 'node:http'
import { SqsError } from './sqs-error.js'

/** Bytes of request bodies that are in memory at this moment, over all connections of a server. */
export interface BodyBudget {
  readonly bodyBytesMax: number
  readonly allBodiesBytesMax: number
  usedBytes: number
}

/** Undefined if the caller went away in the middle. Whoever reads a body gives it back to the budget. */
export function readBody(request: IncomingMessage, budget: BodyBudget): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (isTooLarge(request, budget)) return reject(tooLarge(budget))
    const chunks: Buffer[] = []
    let bytes = 0
    const stop = () => {
      request.off('data', take).off('end', end).off('error', leave).off('close', leave)
    }
    const refuse = (error: SqsError) => {
      stop()
      request.pause() // what is left is not read; the answer is sent, and the connection closed
      budget.usedBytes -= bytes
      reject(error)
    }
    const take = (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      budget.usedBytes += chunk.length
      if (bytes > budget.bodyBytesMax) refuse(tooLarge(budget))
      else if (budget.usedBytes > budget.allBodiesBytesMax) refuse(tooManyBodies())
    }
    const end = () => {
      stop()
      resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, bytes))
    }
    const leave = () => {
      stop()
      budget.usedBytes -= bytes
      resolve(undefined)
    }
    request.on('data', take).on('end', end).on('error', leave).on('close', leave)
  })
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
