import { SqsError } from '../sqs-error.js'
import { decodeBase64, decodeMembers, decodeUtf8, isInRange, knownAction, missingParameter, under } from './decode.js'
import { type FormNode, formTree, numbered, parseForm } from './form.js'
import { type DecodedRequest, type HttpAnswer, type HttpRequest, splitUrl } from './http-message.js'
import { type ActionName, actions } from './model.js'
import type { MapShape, Members, Shape, WireOutput, WireValue } from './shape.js'
import { element, membersAsXml, textElement } from './xml.js'

/** The AWS query protocol: parameters in the query string or a form, answers in XML. */

const version = '2012-11-05'
const namespace = `http://queue.amazonaws.com/doc/${version}/`

/** `baseUrl` is how the caller addressed this server: a request to a queue's own path means that queue. */
export function decodeQueryRequest(request: HttpRequest, baseUrl: string): DecodedRequest {
  const { path, query } = splitUrl(request.url)
  const root = formTree([...parseForm(query), ...parseForm(formBody(request))])
  const action = actionOf(root)
  const queuePath = path.replace(/\/+$/, '')
  const pathQueueUrl = queuePath === '' ? undefined : baseUrl + queuePath
  const input = decodeMembers(actions[action].input, '', (name, member, memberPath) => {
    const value = decode(member.shape, root.children.get(member.query ?? name), memberPath)
    return name === 'QueueUrl' ? (value ?? pathQueueUrl) : value
  })
  return { protocol: 'query', action, input } as DecodedRequest
}

export function encodeQueryOutput(action: ActionName, output: WireOutput, requestId: string): HttpAnswer {
  const members: Members = actions[action].output
  const hasResult = Object.keys(members).length > 0
  const result = hasResult ? element(`${action}Result`, membersAsXml(members, output)) : ''
  const metadata = element('ResponseMetadata', textElement('RequestId', requestId))
  return answer(200, `${action}Response`, result + metadata, requestId)
}

export function encodeQueryError(error: SqsError, requestId: string): HttpAnswer {
  const details =
    textElement('Type', error.senderFault ? 'Sender' : 'Receiver') +
    textElement('Code', error.queryCode) +
    textElement('Message', error.message) +
    element('Detail', '')
  return answer(
    error.status,
    'ErrorResponse',
    element('Error', details) + textElement('RequestId', requestId),
    requestId,
  )
}

function answer(status: number, name: string, content: string, requestId: string): HttpAnswer {
  return {
    status,
    headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId },
    body: `<?xml version="1.0"?><${name} xmlns="${namespace}">${content}</${name}>`,
  }
}

function formBody({ method, body }: HttpRequest): string {
  if (method !== 'POST') return ''
  const text = decodeUtf8(body)
  if (text === undefined) throw new SqsError('MalformedQueryString', 'The body of the request is not valid UTF-8.')
  return text
}

function actionOf(root: FormNode): ActionName {
  const name = root.children.get('Action')?.text
  if (!name) throw missingParameter('Action')
  const asked = root.children.get('Version')?.text
  if (asked !== undefined && asked !== version) {
    throw new SqsError('NoSuchVersion', `The requested version ( ${asked} ) is not valid. It must be ${version}.`)
  }
  return knownAction(name)
}

function decode(shape: Shape, node: FormNode | undefined, path: string): WireValue | undefined {
  if (!node) return undefined
  switch (shape.kind) {
    case 'list': {
      const items = numbered(node).map(([number, child]) => decodeItem(shape.item, child, under(path, number)))
      if (items.length > 0 || node.text === undefined) return items.length > 0 ? items : undefined
      // SDKs write `AttributeName=` for a list of none, and people `AttributeName=All` for a list of one.
      return node.text === '' ? [] : [decodeItem(shape.item, node, path)]
    }
    case 'map':
      return decodeMap(shape, node, path)
    case 'structure':
      return decodeMembers(shape.members, path, (name, member, memberPath) =>
        decode(member.shape, node.children.get(member.query ?? name), memberPath),
      )
    default:
      return node.text === undefined ? undefined : decodeText(shape.kind, node.text, path)
  }
}

function decodeItem(shape: Shape, node: FormNode, path: string): WireValue {
  const item = decode(shape, node, path)
  if (item === undefined) throw missingParameter(path)
  return item
}

/** `Attribute.Name=…&Attribute.Value=…`, without a number, is a map of one. */
function decodeMap(shape: MapShape, node: FormNode, path: string): WireValue | undefined {
  const entries = numbered(node).map(([number, child]): [FormNode, string] => [child, under(path, number)])
  if (node.children.has(shape.key)) entries.unshift([node, path])
  const values = new Map<string, WireValue>()
  for (const [entry, entryPath] of entries) {
    const keyPath = under(entryPath, shape.key)
    const key = entry.children.get(shape.key)?.text
    if (key === undefined) throw missingParameter(keyPath)
    if (values.has(key)) throw invalid(key, keyPath, 'It is there twice.')
    const valuePath = under(entryPath, 'Value')
    const value = decode(shape.value, entry.children.get('Value'), valuePath)
    if (value === undefined) throw missingParameter(valuePath)
    values.set(key, value)
  }
  return values.size > 0 ? Object.fromEntries(values) : undefined
}

function decodeText(kind: 'string' | 'integer' | 'long' | 'boolean' | 'blob', text: string, path: string): WireValue {
  switch (kind) {
    case 'string':
      return text
    case 'integer':
    case 'long': {
      const value = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      if (isInRange(kind, value)) return value
      throw invalid(text, path, 'Must be an integer.')
    }
    case 'boolean':
      if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
      throw invalid(text, path, 'Must be true or false.')
    default: {
      const bytes = decodeBase64(text)
      if (bytes) return bytes
      throw invalid(text, path, 'Must be encoded in base64.')
    }
  }
}

const quotedMax = 100

function invalid(value: string, path: string, reason: string): SqsError {
  const quoted = value.length > quotedMax ? `${value.slice(0, quotedMax)}…` : value
  return new SqsError(
    'InvalidParameterValueException',
    `Value ${quoted} for parameter ${path} is invalid. Reason: ${reason}`,
  )
}
