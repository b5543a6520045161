import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packageRoot } from '../../../src/package-root.js'
import { setupServer } from './setup.js'

const run = async (program: string, file: string, url: string) => {
  const env = { ...process.env, SQS_ENDPOINT: url }
  const { stdout } = await promisify(execFile)(program, [join(packageRoot, 'examples', 'sqs', file)], { env })
  return stdout
}

const missing = [
  ...(spawnSync('python3', ['-c', 'import boto3']).status === 0 ? [] : ['python3-boto3']),
  ...(spawnSync('aws', ['--version']).status === 0 ? [] : ['awscli']),
]
const reason = missing.length === 0 ? '' : `: ${missing.join(' and ')} not installed here`

it.skipIf(missing.length > 0)(
  `the session with the AWS CLI and the worker in Python do what the guide says${reason}`,
  async () => {
    const { server } = await setupServer({ unsigned: true })
    expect(await run('bash', 'session.sh', server.url)).toBe('received {"order":"o-1"}\n1\n')
    expect(await run('python3', 'worker.py', server.url)).toBe('packed o-2\n')
  },
)
