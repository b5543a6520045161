/** npm hands on the SIGINT that the terminal has sent to us as well: within this time, two are one. */
const sameKeyMs = 300

/** As a shell tells of a process that a signal has ended: 128 and its number. */
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
type StopSignalName = keyof typeof exitCodes
const names = Object.keys(exitCodes) as StopSignalName[]

/** Aborts on the first Ctrl-C (or SIGTERM, or a closed terminal); the second ends the process at once. */
export function stopSignal(): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController()
  let stopAskedAt: number | undefined
  const onSignal = (name: StopSignalName) => {
    if (stopAskedAt === undefined) {
      stopAskedAt = Date.now()
      controller.abort()
    } else if (Date.now() - stopAskedAt > sameKeyMs) {
      process.exit(exitCodes[name])
    }
  }
  const onUnheard = () => controller.abort() // nobody reads us any more: `| head`
  for (const name of names) process.on(name, onSignal)
  process.stdout.on('error', onUnheard)
  return {
    signal: controller.signal,
    dispose() {
      for (const name of names) process.off(name, onSignal)
      process.stdout.off('error', onUnheard)
    },
  }
}
