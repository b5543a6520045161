import * as sdk from '@aws-sdk/client-sqs'
import { AwsQueryProtocol } from '@aws-sdk/core/protocols'
import type { Protocol } from '../../../src/sqs/wire/http-message.js'
import type { ActionName } from '../../../src/sqs/wire/model.js'

export const accessKeyId = 'AKTEST'
export const secretAccessKey = 'the/secret+of=tests'

/** The real SDK, which speaks JSON by default and has a codec for the query protocol that other services need. */
export function sdkClient(
  protocol: Protocol,
  { checkDigests = false, ...config }: sdk.SQSClientConfig & { readonly checkDigests?: boolean },
): sdk.SQSClient {
  return new sdk.SQSClient({
    region: 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    // The digests in the examples are made up.
    ...(!checkDigests && { md5: false }),
    ...config,
    ...(protocol === 'query' && {
      protocol: AwsQueryProtocol,
      protocolSettings: {
        defaultNamespace: 'com.amazonaws.sqs',
        errorTypeRegistries: sdk.errorTypeRegistries,
        xmlNamespace: 'http://queue.amazonaws.com/doc/2012-11-05/',
        version: '2012-11-05',
      },
    }),
  })
}

type AnyCommand = Parameters<sdk.SQSClient['send']>[0]

/** The SDK's own command for an action of the table. */
export function sdkCommand(action: ActionName, input: object): AnyCommand {
  const commands = sdk as unknown as Readonly<Record<string, new (input: object) => AnyCommand>>
  const Command = commands[`${action}Command`]
  if (!Command) throw new Error(`The SDK has no ${action}Command`)
  return new Command(input)
}

/** What the SDK adds to every answer, and to the bytes of a blob, is left out. */
export function plainAnswer(answer: object): Record<string, unknown> {
  const { $metadata: _, ...fields } = answer as Record<string, unknown>
  return withBuffers(fields) as Record<string, unknown>
}

function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (Array.isArray(value)) return value.map(withBuffers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withBuffers(item)]))
}
