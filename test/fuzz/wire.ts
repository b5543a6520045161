import { connect } from 'node:net'
import { expect } from 'vitest'
import { sqsErrors } from '../../src/sqs/sqs-error.js'

export interface Answer {
  readonly status: number
  readonly body: string
}

export const answerMsMax = 10_000
const errorNames = new Set([...Object.keys(sqsErrors), ...Object.values(sqsErrors).map(({ queryCode }) => queryCode)])

/** Answered with what was asked for, or with an error that clients know; never with one of the server's own. */
export function judge({ status, body }: Answer): void {
  expect(status, body).not.toBe(500)
  expect(status, body).not.toBe(503)
  if (status === 200) return
  const name = body.startsWith('{')
    ? (JSON.parse(body) as { __type: string }).__type.replace(/^.*#/, '')
    : (/<Code>([^<]*)<\/Code>/.exec(body)?.[1] ?? body)
  expect(errorNames).toContain(name)
  expect(body.length).toBeLessThan(5_000)
}

/** A request as its bytes are; `latin1`, so that a header can hold any of them. */
export function requestBytes(
  line: string,
  headers: readonly (readonly [name: string, value: string])[],
  body: Buffer,
): Buffer {
  const head = [line, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}

/**
 * Sends bytes on a connection of their own and answers what came back before the server closed it: nothing, if it did
 * so without a word. `leave`: goes away without waiting for an answer, by a FIN or, with `reset`, without any manners.
 */
export function exchange(port: number, bytes: Buffer, leave?: 'end' | 'reset'): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect({ port, host: '127.0.0.1' }, () =>
      socket.write(bytes, () => {
        if (leave === 'end') socket.end()
        if (leave === 'reset') socket.resetAndDestroy()
      }),
    )
    socket.setTimeout(answerMsMax, () => socket.destroy(new Error('no answer')))
    socket.setEncoding('utf8').on('data', (text: string) => (said += text))
    // A server that closes before it has read everything may reset the connection.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => resolve(firstAnswer(said)))
  })
}

function firstAnswer(said: string): Answer | undefined {
  const answers = said.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
  if (answers === '') return undefined
  const [, status, head, rest] = /^HTTP\/1\.1 (\d{3}) (.*?\r\n)\r\n(.*)$/s.exec(answers) as unknown as string[]
  const length = /^content-length: (\d+)\r$/im.exec(head as string)?.[1]
  const body = Buffer.from(rest as string).subarray(0, length === undefined ? undefined : Number(length))
  return { status: Number(status), body: body.toString() }
}

/** The words of Node's own parser, for what is no HTTP at all: no body, or one of no chunks. */
export function isRefusedByParser({ status, body }: Answer): boolean {
  return (status === 400 || status === 431) && (body === '' || body === '0\r\n\r\n')
}
