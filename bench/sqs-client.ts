/**
 * As little client as the wire allows, so that what is measured is the server: JSON over connections that are kept, signed.
 * The AWS SDK takes several times the processor time of either server here.
 */
import { createHash, createHmac } from 'node:crypto'
import { Agent, request } from 'node:http'

const accessKeyId = 'AKIABENCH'
const secret = 'secret'
const region = 'us-east-1'

export type Call = <Output>(action: string, input: object) => Promise<Output>

export function sqsClient(endpoint: string): { readonly call: Call; close(): void } {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port, host } = new URL(endpoint)
  const call: Call = (action, input) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(input)
      const headers = signed(host, `AmazonSQS.${action}`, body)
      const sent = request({ agent, hostname, port, method: 'POST', path: '/', headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) resolve(text === '' ? {} : JSON.parse(text))
          else reject(new Error(`${action}: ${response.statusCode} ${text}`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  return { call, close: () => agent.destroy() }
}

const hex = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

let keyOfDay: { readonly day: string; readonly key: Buffer } | undefined

function signed(host: string, target: string, body: string): Record<string, string> {
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = stamp.slice(0, 8)
  if (keyOfDay?.day !== day) {
    const key = [day, region, 'sqs', 'aws4_request'].reduce<string | Buffer>(
      (before, part) => hmac(before, part),
      `AWS4${secret}`,
    )
    keyOfDay = { day, key: key as Buffer }
  }
  const names = 'content-type;host;x-amz-date;x-amz-target'
  const type = 'application/x-amz-json-1.0'
  const lines = [`content-type:${type}`, `host:${host}`, `x-amz-date:${stamp}`, `x-amz-target:${target}`]
  const canonical = ['POST', '/', '', ...lines, '', names, hex(body)].join('\n')
  const scope = `${day}/${region}/sqs/aws4_request`
  const signature = hmac(keyOfDay.key, ['AWS4-HMAC-SHA256', stamp, scope, hex(canonical)].join('\n')).toString('hex')
  return {
    'content-type': type,
    'content-length': String(Buffer.byteLength(body)),
    host,
    'x-amz-date': stamp,
    'x-amz-target': target,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}
