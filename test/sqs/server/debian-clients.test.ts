import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { packageRoot } from '../../../src/package-root.js'
import { setupServer } from './setup.js'

/** Each command of AWS takes a second or two to start. */
vi.setConfig({ testTimeout: 120_000 })

/** Those of Debian 12, which speak the query protocol; not another one that comes first in the PATH. */
const python = '/usr/bin/python3'
const has = { boto3: existsSync('/usr/lib/python3/dist-packages/boto3'), aws: existsSync('/usr/bin/aws') }
const clients = join(packageRoot, 'test', 'sqs', 'server', 'clients')

async function run(program: string, script: string, url: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(program, [join(clients, script), url], { timeout: 110_000 })
  return stdout.trimEnd().split('\n')
}

it.skipIf(!has.boto3)(
  `boto3 finds everything as it is at AWS${has.boto3 ? '' : ': python3-boto3 is not there'}`,
  async () => {
    const { server, errors } = await setupServer()
    const said = await run(python, 'boto3_session.py', server.url)
    expect(said.filter((line) => !line.startsWith('ok '))).toEqual([])
    expect(said.at(-1)).toBe('ok a queue is deleted')
    expect(errors).toEqual([])
  },
)

it.skipIf(!has.aws)(
  `the command line of AWS goes through a session${has.aws ? '' : ': awscli is not there'}`,
  async () => {
    const { server, errors } = await setupServer()
    const url = `${server.url}/000000000000/orders`
    expect(await run('/bin/sh', 'aws_session.sh', server.url)).toEqual([
      `created ${url}`,
      `QUEUEURLS\t${url}`,
      expect.stringMatching(/^[0-9a-f]{32}$/),
      'hallo <&> ü\t1\tv',
      'a\tb',
      '1',
      '0',
      '',
      expect.stringMatching(/^An error occurred \(AWS.SimpleQueueService.NonExistentQueue\).*queue does not exist\.$/),
      'code 254',
      'None',
    ])
    expect(errors).toEqual([])
  },
)
