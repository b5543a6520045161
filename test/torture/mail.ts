import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Journal } from './journal.js'

export const mailQueue = 'mail'
/** So many sends of a hundred lose their answer: the connection is cut by the client a moment after the request has left. */
const lostAnswersPercent = 8

/** One message, tried under one invocation id until it is acknowledged: as an SDK does, and a process after its predecessor. */
export async function sendMessage(
  ports: readonly number[],
  m: number,
  invocation: string,
  journal: Journal,
): Promise<void> {
  const input = { QueueUrl: queueUrl(ports), MessageBody: String(m) }
  journal.write('send', m)
  for (let tries = 0; ; tries++) {
    const port = ports[(m + tries) % ports.length] as number
    const cutAfterMs = (m * 37 + tries * 11) % 100 < lostAnswersPercent ? m % 12 : undefined
    const answer = await call(port, 'SendMessage', input, { invocation, cutAfterMs }).catch(() => undefined)
    if (answer) {
      journal.write('sent', m, answer['MessageId'] as string)
      return
    }
    await pause(50)
  }
}

export interface Received {
  readonly m: number
  readonly id: string
  readonly receipt: string
}

export async function receiveMessages(
  ports: readonly number[],
  tries: number,
  signal?: AbortSignal,
): Promise<Received[]> {
  const input = { QueueUrl: queueUrl(ports), MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }
  const answer = await call(ports[tries % ports.length] as number, 'ReceiveMessage', input, { signal })
  const messages = (answer['Messages'] ?? []) as { Body: string; MessageId: string; ReceiptHandle: string }[]
  return messages.map(({ Body, MessageId, ReceiptHandle }) => ({
    m: Number(Body),
    id: MessageId,
    receipt: ReceiptHandle,
  }))
}

export async function deleteMessage(ports: readonly number[], tries: number, receipt: string): Promise<void> {
  const input = { QueueUrl: queueUrl(ports), ReceiptHandle: receipt }
  await call(ports[tries % ports.length] as number, 'DeleteMessage', input)
}

/** A receipt that runs out so soon is often one that has run out. */
export async function createMailQueue(ports: readonly number[]): Promise<void> {
  const input = { QueueName: mailQueue, Attributes: { VisibilityTimeout: '3' } }
  await call(ports[0] as number, 'CreateQueue', input)
}

function queueUrl(ports: readonly number[]): string {
  return `http://127.0.0.1:${ports[0]}/000000000000/${mailQueue}`
}

interface CallOptions {
  readonly invocation?: string
  readonly cutAfterMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const answerMsMax = 15_000

function call(
  port: number,
  action: string,
  input: object,
  options: CallOptions = {},
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${action}`,
      ...(options.invocation && { 'amz-sdk-invocation-id': options.invocation }),
    }
    const signal = AbortSignal.any([AbortSignal.timeout(answerMsMax), ...(options.signal ? [options.signal] : [])])
    const asked = request({ host: '127.0.0.1', port, method: 'POST', headers, signal }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text === '' ? {} : (JSON.parse(text) as Record<string, unknown>))
        else reject(new Error(`${action}: ${response.statusCode} ${text}`))
      })
    })
    asked.on('error', reject)
    asked.end(JSON.stringify(input), () => {
      if (options.cutAfterMs !== undefined) setTimeout(() => asked.destroy(), options.cutAfterMs)
    })
  })
}
