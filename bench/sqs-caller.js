/**
 * Ten callers of an endpoint that speaks SQS, in a process of their own: sends, and receives and deletes, in batches of ten,
 * when the parent says so. As little client as the wire allows, so that what is measured is the server: JSON over
 * connections that are kept, signed. (The AWS SDK takes several times the processor time of either server here, and Node's
 * own HTTP client as much as a server.)
 */
import { createHmac, createSecretKey, hash } from 'node:crypto'
import { connect } from 'node:net'
import { timed } from './peers/timed.js'

const accessKeyId = 'AKIABENCH'
const secret = 'secret'
const region = 'us-east-1'

const { endpoint, messages, callers, body: MessageBody } = JSON.parse(process.argv[2])
/** Connections on which no request is under way. */
const idle = []
const { hostname, port, host } = new URL(endpoint)
const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: String(n), MessageBody }))

/** One request at a time; of an answer, the status, the length and the body. */
class Connection {
  #socket = connect({ host: hostname, port, noDelay: true })
  #read = Buffer.alloc(0)
  #waiting

  constructor() {
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#waiting?.reject(error))
  }

  post(headers, body) {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(`POST / HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
    })
  }

  #receive(chunk) {
    this.#read = this.#read.length === 0 ? chunk : Buffer.concat([this.#read, chunk])
    const headEnd = this.#read.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#read.latin1Slice(0, headEnd)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    if (Number.isNaN(length)) throw new Error(`an answer without a length:\n${head}`)
    if (this.#read.length < headEnd + 4 + length) return
    const body = this.#read.utf8Slice(headEnd + 4, headEnd + 4 + length)
    this.#read = this.#read.subarray(headEnd + 4 + length)
    idle.push(this)
    this.#waiting.resolve({ status: Number(head.slice(9, 12)), body })
  }
}

const phases = { create, send, receive, remove }
let QueueUrl

process.on('message', (phase) => void phases[phase]().then((told) => process.send(told ?? {})))
process.once('disconnect', () => process.exit())
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
  const text = JSON.stringify(input)
  return (idle.pop() ?? new Connection()).post(signed(`AmazonSQS.${action}`, text), text).then(({ status, body }) => {
    if (status === 200) return body === '' ? {} : JSON.parse(body)
    throw new Error(`${action}: ${status} ${body}`)
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
    keyOfDay = { day, key: createSecretKey(key) }
  }
  const names = 'content-type;host;x-amz-date;x-amz-target'
  const type = 'application/x-amz-json-1.0'
  const lines = [`content-type:${type}`, `host:${host}`, `x-amz-date:${stamp}`, `x-amz-target:${target}`]
  const canonical = ['POST', '/', '', ...lines, '', names, hex(text)].join('\n')
  const scope = `${day}/${region}/sqs/aws4_request`
  const signature = hmac(keyOfDay.key, ['AWS4-HMAC-SHA256', stamp, scope, hex(canonical)].join('\n')).toString('hex')
  return [
    ...lines,
    `content-length: ${Buffer.byteLength(text)}`,
    `authorization: AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  ].join('\r\n')
}
