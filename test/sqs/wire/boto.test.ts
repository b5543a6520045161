import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpServer, startHttpServer } from '../../../src/sqs/http-server.js'
import { verifySignature } from '../../../src/sqs/sigv4.js'
import type { SqsCall } from '../../../src/sqs/sqs-call.js'
import { SqsError } from '../../../src/sqs/sqs-error.js'
import { type ActionName, actionNames } from '../../../src/sqs/wire/model.js'
import { examples } from './examples.js'
import { accessKeyId, secretAccessKey } from './sdk-client.js'

interface Said {
  readonly protocol: string
  readonly answers: Readonly<Partial<Record<ActionName, unknown>>>
}

/** Releases up to 1.31 of botocore speak the query protocol, later ones JSON: a machine may have both. */
const pythons = ['python3', '/usr/bin/python3'].filter(
  (python) => spawnSync(python, ['-c', 'import boto3']).status === 0,
)

let server: HttpServer
let calls: SqsCall[] = []

beforeAll(async () => {
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    authorize: (request) =>
      verifySignature({
        ...request,
        now: new Date(),
        keys: new Map([[accessKeyId, secretAccessKey]]),
        skewMs: 60_000,
      }).accessKeyId,
    async handle(call) {
      calls.push(call)
      if (call.action === 'DeleteQueue') throw new SqsError('QueueDoesNotExist', 'There is no such <queue>.')
      return examples[call.action].output
    },
  })
})

afterAll(() => server.close())

it.skipIf(pythons.length === 0)(
  `there is a boto3 to test with${pythons.length > 0 ? '' : ': not installed here (apt-get install python3-boto3)'}`,
  () => {
    expect(pythons).not.toEqual([])
  },
)

describe.each(pythons)('the boto3 of %s', (python) => {
  it('is understood and understands, for every action that it knows', async () => {
    calls = []
    const { protocol, answers } = await runBoto(python)
    expect(Object.keys(answers).length).toBeGreaterThanOrEqual(20)
    for (const action of actionNames) {
      if (!(action in answers)) continue
      const call = calls.find((one) => one.action === action)
      // A release that is older than a member does not send it; the query protocol has one name for these two.
      const { MessageSystemAttributeNames: _, ...input } = examples[action].input as Record<string, unknown>
      expect(call?.input, action).toMatchObject(input)
      expect(call?.principal).toBe(accessKeyId)
      if (action !== 'DeleteQueue') expect(answers[action], action).toEqual(forPython(examples[action].output))
    }
    expect(answers.DeleteQueue).toMatchObject({
      Error: { Code: 'AWS.SimpleQueueService.NonExistentQueue', Message: 'There is no such <queue>.' },
      Class: 'QueueDoesNotExist',
    })
    expect(['query', 'json']).toContain(protocol)
  })
})

async function runBoto(python: string): Promise<Said> {
  const script = join(import.meta.dirname, 'boto-process.py')
  const process = spawn(python, [script, server.url, accessKeyId, secretAccessKey], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  process.stdin.end(
    JSON.stringify(forPython(Object.fromEntries(actionNames.map((name) => [name, examples[name].input])))),
  )
  const [said] = await Promise.all([text(process.stdout), once(process, 'exit')])
  return JSON.parse(said) as Said
}

/** JSON has no bytes: they travel between the two processes as `{ base64 }`. */
function forPython(value: unknown): unknown {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(forPython)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, forPython(item)]))
}
