/** What a worker tells the `fencepost dev` that started it. */
export interface DevNews {
  /** The files it runs, to be watched. */
  readonly files: readonly string[]
  /** Where new files would be tasks. */
  readonly directories: readonly string[]
  /** It uses the embedded server: somebody should keep that alive between two workers. */
  readonly embedded: boolean
}

/** In the environment of a worker that `fencepost dev` has started. */
export const devLinkVariable = 'FENCEPOST_DEV_LINK'

const isLinked = process.env[devLinkVariable] !== undefined && process.connected

export function tellDev(news: DevNews): void {
  if (isLinked) process.send?.(news)
}

/** However `dev` ends, SIGKILL included, its end of the channel closes: no worker is left behind. */
export function onDevGone(listener: () => void): () => void {
  if (!isLinked) return () => {}
  process.on('disconnect', listener)
  return () => process.off('disconnect', listener)
}
