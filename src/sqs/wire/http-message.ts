import type { IncomingHttpHeaders } from 'node:http'
import type { ActionName, InputOf } from './model.js'

/** A request as it came: the url is what the request line says, path and query, not decoded. */
export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A url without a query has an empty one. */
export function splitUrl(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?')
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
}

export type Protocol = 'json' | 'query'

/** What a request asks for: a union over the actions, so that a `switch` on `action` knows its `input`. */
export type DecodedRequest<A extends ActionName = ActionName> = A extends ActionName
  ? { readonly protocol: Protocol; readonly action: A; readonly input: InputOf<A> }
  : never
