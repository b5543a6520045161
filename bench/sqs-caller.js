/**
 * Ten callers of an endpoint that speaks SQS, in a process of their own: sends, and receives and deletes, in batches of ten,
 * when the parent says so. As little client as the wire allows, so that what is measured is the server: JSON over
 * connections that are kept, signed. (The AWS SDK takes several times the processor time of either server here.)
 */
import { createHmac, hash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { timed } from './peers/timed.js'

const accessKeyId = 'AKIABENCH'
const secret = 'secret'
const region = 'us-east-1'

const { endpoint, messages, callers, body } = JSON.parse(process.argv[2])
const agent = new Agent({ keepAlive: true })
const { hostname, port, host } = new URL(endpoint)
const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: String(n), MessageBody: body }))
const phases = { create, send, receive, remove }
let QueueUrl

process.on('message', (phase) => void phases[phase]().then((told) => process.send(told ?? {})))
process.once('disconnect', () => agent.destroy())
process.send('ready')

async function create() {
  ;({ QueueUrl } = await call('CreateQueue', { QueueName: 'bench' }))
}

function send() {
  return timed(callers, async (n) => {
    if (n >= messages / 10) return 0
    await call('SendMessageBatch', { QueueUrl, Entries })
    return 10
  })
}

function receive() {
  let received = 0
  return timed(callers, async () => {
    if (received >= messages) return 0
    const { Messages = [] } = await call('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 })
    received += Messages.length
    if (Messages.length === 0) return 0
    const handles = Messages.map(({ ReceiptHandle }, n) => ({ Id: String(n), ReceiptHandle }))
    await call('DeleteMessageBatch', { QueueUrl, Entries: handles })
    return Messages.length
  })
}

async function remove() {
  await call('DeleteQueue', { QueueUrl })
}

function call(action, input) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(input)
    const headers = signed(`AmazonSQS.${action}`, text)
    const sent = request({ agent, hostname, port, method: 'POST', path: '/', headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const answer = Buffer.concat(chunks).toString()
        if (response.statusCode === 200) resolve(answer === '' ? {} : JSON.parse(answer))
        else reject(new Error(`${action}: ${response.statusCode} ${answer}`))
      })
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

const hex = (text) => hash('sha256', text)
const hmac = (key, part) => createHmac('sha256', key).update(part).digest()

let keyOfDay

function signed(target, text) {
  const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = stamp.slice(0, 8)
  if (keyOfDay?.day !== day) {
    const key = [day, region, 'sqs', 'aws4_request'].reduce((before, part) => hmac(before, part), `AWS4${secret}`)
    keyOfDay = { day, key }
  }
  const names = 'content-type;host;x-amz-date;x-amz-target'
  const type = 'application/x-amz-json-1.0'
  const lines = [`content-type:${type}`, `host:${host}`, `x-amz-date:${stamp}`, `x-amz-target:${target}`]
  const canonical = ['POST', '/', '', ...lines, '', names, hex(text)].join('\n')
  const scope = `${day}/${region}/sqs/aws4_request`
  const signature = hmac(keyOfDay.key, ['AWS4-HMAC-SHA256', stamp, scope, hex(canonical)].join('\n')).toString('hex')
  return {
    'content-type': type,
    'content-length': String(Buffer.byteLength(text)),
    host,
    'x-amz-date': stamp,
    'x-amz-target': target,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}
