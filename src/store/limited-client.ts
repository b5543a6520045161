import pg from 'pg'

type Answered = (error: Error | null | undefined, result?: unknown) => void
type Query = (...given: unknown[]) => unknown

/**
 * Connections on which a statement is given up after so many milliseconds; a pool then ends the connection.
 *
 * The driver's own `query_timeout` does the same, but it sets a function as a property of every query. One that is written
 * so is among V8's old objects from the beginning, and keeps what the statement was given and what it has answered until
 * old objects are collected: a tenth of all the garbage that a busy worker makes.
 */
export function limitedClient(statementMsMax: number): typeof pg.Client {
  return class extends pg.Client {
    override query(...given: unknown[]): never {
      const query: Query = (...all) => (super.query as Query)(...all)
      const answered = given.at(-1)
      if (typeof answered === 'function') return limited(query, given.slice(0, -1), answered as Answered) as never
      const promise = new Promise((resolve, reject) => {
        limited(query, given, (error, result) => (error ? reject(error) : resolve(result)))
      })
      return promise as never
    }
  }

  function limited(query: Query, given: readonly unknown[], answered: Answered): unknown {
    let over = false
    const end: Answered = (error, result) => {
      if (over) return
      over = true
      clearTimeout(timer)
      answered(error, result)
    }
    const timer = setTimeout(() => end(new Error('Query read timeout')), statementMsMax)
    return query(...given, end)
  }
}
