import type { ActionName, InputOf, OutputOf } from './wire/model.js'

/** One decoded and authorized request: a union over the actions, so that a `switch` on `action` knows its `input`. */
export type SqsCall<A extends ActionName = ActionName> = A extends ActionName ? CallOf<A> : never

/** Who waits for an answer, until it goes away, or is cut off at the end of a shutdown. */
export class Caller {
  #gone = false
  #leaving: AbortController | undefined

  leave(): void {
    this.#gone = true
    this.#leaving?.abort()
  }

  get isGone(): boolean {
    return this.#gone
  }

  /** Made when it is asked for: most calls end before anyone would listen, and a signal costs as much as a digest. */
  get leaving(): AbortSignal {
    this.#leaving ??= new AbortController()
    if (this.#gone) this.#leaving.abort()
    return this.#leaving.signal
  }
}

interface CallOf<A extends ActionName> {
  readonly action: A
  readonly input: InputOf<A>
  /** The access key id, or `anonymous`. */
  readonly principal: string
  /** The same in every try of one call: what the caller chose, or what its SDK numbers its calls with. */
  readonly token: string | undefined
  /** `http://host:port` as the caller addressed us, so that the URLs in an answer lead back to us from where it is. */
  readonly baseUrl: string
  readonly caller: Caller
  /** The server is about to stop: end what waits, and answer with what there is. */
  readonly stopping: AbortSignal
  readonly requestId: string
}

/** Answers any call. The compiler ties an output to its action only in functions of one action, such as `SqsAction`. */
export type SqsHandler = (call: SqsCall) => Promise<OutputOf<ActionName>>

export type SqsAction<A extends ActionName> = (call: SqsCall<A>) => Promise<OutputOf<A>>
