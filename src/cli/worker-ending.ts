import { onDevGone } from './dev-link.js'
import { stopSignal } from './stop-signal.js'

/** All that ends a worker in good order. */
export interface WorkerEnding {
  readonly signal: AbortSignal
  /** The error that nobody caught, if that was it. */
  readonly uncaught: { error: unknown } | undefined
  dispose(): void
}

/**
 * A signal; the end of the `dev` that started it; or an error that nobody caught, in the code of a task: after that
 * nothing is certain in this process, but giving its jobs back costs them nothing, and dying would cost each a loss.
 */
export function workerEnding(): WorkerEnding {
  const asked = stopSignal()
  const other = new AbortController()
  let uncaught: { error: unknown } | undefined
  const onUncaught = (error: unknown) => {
    uncaught ??= { error }
    other.abort()
  }
  process.on('uncaughtException', onUncaught)
  const forgetDev = onDevGone(() => other.abort())
  return {
    signal: AbortSignal.any([asked.signal, other.signal]),
    get uncaught() {
      return uncaught
    },
    dispose() {
      asked.dispose()
      process.off('uncaughtException', onUncaught)
      forgetDev()
    },
  }
}
