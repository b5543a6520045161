import type { HttpAnswer, HttpRequest } from '../../../src/sqs/wire/http-message.js'

/**
 * Exchanges as text: the head of a request, its body, the head of the answer, its body, with blank lines between them.
 * Several in a file stand apart by a line of dashes. A request without a body has no part for it.
 */
export interface Exchange {
  readonly request: HttpRequest
  readonly answer: HttpAnswer
}

const divider = '\n----\n\n'

export function formatExchanges(exchanges: readonly Exchange[]): string {
  return exchanges.map(formatExchange).join(divider)
}

function formatExchange({ request, answer }: Exchange): string {
  const parts = [head(`${request.method} ${request.url} HTTP/1.1`, request.headers)]
  if (request.body.length > 0) parts.push(request.body.toString('utf8'))
  parts.push(head(`HTTP/1.1 ${answer.status}`, answer.headers), answer.body)
  return `${parts.join('\n\n')}\n`
}

function head(first: string, headers: HttpRequest['headers'] | HttpAnswer['headers']): string {
  return [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)].join('\n')
}

export function parseExchanges(text: string): Exchange[] {
  return text.split(divider).map(parseExchange)
}

function parseExchange(text: string): Exchange {
  const parts = text.trimEnd().split('\n\n')
  const body = parts[1]?.startsWith('HTTP/1.1 ') ? '' : (parts.splice(1, 1)[0] ?? '')
  const [requestHead = '', answerHead = '', answerBody = ''] = parts
  const [requestLine = '', ...requestHeaders] = requestHead.split('\n')
  const [statusLine = '', ...answerHeaders] = answerHead.split('\n')
  const [method = '', url = ''] = requestLine.split(' ')
  return {
    request: { method, url, headers: parseHeaders(requestHeaders), body: Buffer.from(body, 'utf8') },
    answer: { status: Number(statusLine.split(' ')[1]), headers: parseHeaders(answerHeaders), body: answerBody },
  }
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
}
