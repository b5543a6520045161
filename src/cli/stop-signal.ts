/** npm hands on the SIGINT that the terminal has sent to us as well: within this time, two are one. */
const sameKeyMs = 300

const exitInterrupted = 130

/** Aborts on the first Ctrl-C (or SIGTERM, or a closed terminal); the second ends the process at once. */
export function stopSignal(): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController()
  let stopAskedAt: number | undefined
  const onSignal = () => {
    if (stopAskedAt === undefined) {
      stopAskedAt = Date.now()
      controller.abort()
    } else if (Date.now() - stopAskedAt > sameKeyMs) {
      process.exit(exitInterrupted)
    }
  }
  const onUnheard = () => controller.abort() // nobody reads us any more: `| head`
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal)
  process.stdout.on('error', onUnheard)
  return {
    signal: controller.signal,
    dispose() {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, onSignal)
      process.stdout.off('error', onUnheard)
    },
  }
}
