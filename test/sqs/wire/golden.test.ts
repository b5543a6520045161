import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SqsError, type SqsErrorName, sqsErrors } from '../../../src/sqs/sqs-error.js'
import type { HttpAnswer, HttpRequest, Protocol } from '../../../src/sqs/wire/http-message.js'
import { actionNames } from '../../../src/sqs/wire/model.js'
import { decodeRequest, encodeError, encodeOutput, protocolOf } from '../../../src/sqs/wire/protocol.js'
import { examples } from './examples.js'
import { type Exchange, formatExchanges, parseExchanges } from './golden-file.js'
import { refusedRequests } from './refused-requests.js'
import { sdkClient, sdkCommand } from './sdk-client.js'

/**
 * The wire, byte for byte. The requests in the files are what the SDK wrote; `FENCEPOST_GOLDEN=write` writes them and the
 * answers anew, for a person to read the difference.
 */
const directory = join(import.meta.dirname, 'golden')
const writing = process.env['FENCEPOST_GOLDEN'] === 'write'
const requestId = '00000000-0000-4000-8000-000000000000'
const baseUrl = 'http://sqs.test:9324'
const protocols: readonly Protocol[] = ['json', 'query']
const errorNames = Object.keys(sqsErrors) as SqsErrorName[]

describe.each(protocols)('the golden files of the %s protocol', (protocol) => {
  it.each(actionNames)('hold for %s', async (action) => {
    const { input, output } = examples[action]
    const [exchange] = await golden(`${action}.${protocol}.txt`, async () => [
      {
        request: await writtenBySdk(protocol, sdkCommand(action, input)),
        answer: encodeOutput(protocol, action, output, requestId),
      },
    ])
    expect(decodeRequest(exchange!.request, baseUrl)).toEqual({ protocol, action, input })
    expect(encodeOutput(protocol, action, output, requestId)).toEqual(exchange!.answer)
  })

  it('hold for every error', async () => {
    const exchanges = await golden(`errors.${protocol}.txt`, () =>
      Promise.all(
        errorNames.map(async (name) => ({
          request: await writtenBySdk(protocol, sdkCommand('GetQueueUrl', { QueueName: name })),
          answer: encodeError(protocol, errorOf(name), requestId),
        })),
      ),
    )
    const played = exchanges.map(({ request }) => {
      const decoded = decodeRequest(request, baseUrl)
      return decoded.action === 'GetQueueUrl' ? decoded.input.QueueName : undefined
    })
    expect(played).toEqual(errorNames)
    expect(errorNames.map((name) => encodeError(protocol, errorOf(name), requestId))).toEqual(
      exchanges.map(({ answer }) => answer),
    )
  })

  it('hold for every request that cannot be understood', async () => {
    const refused = refusedRequests[protocol]
    const exchanges = await golden(`refused.${protocol}.txt`, () =>
      Promise.resolve(refused.map((request) => ({ request, answer: refusal(request) }))),
    )
    expect(exchanges.map(({ request }) => refusal(request))).toEqual(exchanges.map(({ answer }) => answer))
    expect(exchanges.map(({ request }) => request)).toEqual(refused)
  })
})

it('every golden file is played', () => {
  const played = protocols.flatMap((protocol) =>
    [...actionNames, 'errors', 'refused'].map((name) => `${name}.${protocol}.txt`),
  )
  expect(readdirSync(directory).sort()).toEqual(played.sort())
})

async function golden(file: string, write: () => Promise<Exchange[]>): Promise<Exchange[]> {
  if (writing) writeFileSync(join(directory, file), formatExchanges(await write()))
  return parseExchanges(readFileSync(join(directory, file), 'utf8'))
}

/** A queue is named after the error, and the error says so, with what has to be escaped. */
function errorOf(name: SqsErrorName): SqsError {
  return new SqsError(name, `The queue "${name}" is <not> there & will not be.`)
}

function refusal(request: HttpRequest): HttpAnswer {
  try {
    decodeRequest(request, baseUrl)
  } catch (error) {
    if (error instanceof SqsError) return encodeError(protocolOf(request), error, requestId)
    throw error
  }
  throw new Error(`${request.method} ${request.url} ${request.body.toString()} was understood`)
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Text in the one protocol, bytes in the other. */
  readonly body: string | Uint8Array
}

/** Sends nothing: it is caught where it would go to the network. Only the headers that the decoders read are kept. */
async function writtenBySdk(protocol: Protocol, command: ReturnType<typeof sdkCommand>): Promise<HttpRequest> {
  let caught: HttpRequest | undefined
  const requestHandler = {
    handle({ method, path, headers, body }: Sent) {
      const kept = Object.entries(headers).filter(([name]) => name === 'content-type' || name === 'x-amz-target')
      const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.concat([body])
      caught = { method, url: path, headers: Object.fromEntries(kept), body: bytes }
      return Promise.reject(new Error('caught'))
    },
  }
  const client = sdkClient(protocol, { endpoint: baseUrl, requestHandler })
  await client.send(command).catch(() => undefined)
  if (!caught) throw new Error('the SDK sent nothing')
  return caught
}
