import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs'
import { onTestFinished } from 'vitest'
import { Events } from '../../../src/events.js'
import { checkedSqsOptions, type SqsOptions } from '../../../src/sqs/sqs-options.js'
import { type SqsServer, startSqsServer } from '../../../src/sqs/sqs-server.js'
import type { Database } from '../../../src/store/database.js'
import { setup } from '../../harness/setup.js'

export const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' }

/** A server that speaks SQS on a database of the test's own, and the real client of it. */
export async function setupServer(options: SqsOptions = {}) {
  const bundle = await setup()
  const events = new Events()
  const errors: unknown[] = []
  events.on('error', ({ error }) => errors.push(error))
  const serve = async (given: SqsOptions = {}, db: Database = bundle.db): Promise<SqsServer> => {
    const server = await startSqsServer(
      db,
      events,
      checkedSqsOptions(
        { port: 0, keys: { [credentials.accessKeyId]: { secret: credentials.secretAccessKey } }, ...given },
        'the test',
      ),
    )
    onTestFinished(() => server.close())
    return server
  }
  /** With a token, each request of this client is another try of one and the same. */
  const client = (url: string, config: SQSClientConfig = {}, token?: string): SQSClient => {
    const made = new SQSClient({ region: 'us-east-1', endpoint: url, credentials, maxAttempts: 1, ...config })
    if (token !== undefined) {
      made.middlewareStack.add(
        (next) => (args) => {
          const { headers } = args.request as { headers: Record<string, string> }
          headers['x-fencepost-idempotency-key'] = token
          return next(args)
        },
        { step: 'build' },
      )
    }
    onTestFinished(() => made.destroy())
    return made
  }
  const server = await serve(options)
  return { ...bundle, events, errors, serve, client, server, sqs: client(server.url) }
}
