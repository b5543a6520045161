/**
 * What the machine itself was like while something was measured: how long it took for a piece of work that is always the same, and how
 * much of its processors' time a host gave to others. So a slow round can be told from slow code.
 */
import { readFileSync } from 'node:fs'

interface HostTold {
  /** Of processor time for the yardstick, before and after: the longer one. */
  readonly yardstickMs: number
  /** Of all processor time, what a host kept for others. Of other systems than Linux nothing is known. */
  readonly stolenPercent: number
}

const steps = 1_000_000
/** Larger than what a core keeps for itself: a neighbour on the same caches shows, too. */
const walk = shuffledCycle(2 ** 22)
let sink = 0

export async function watchingHost<Result>(work: () => Promise<Result>): Promise<[Result, HostTold]> {
  const [msBefore, before] = [yardstickMs(), ticks()]
  const result = await work()
  const [after, msAfter] = [ticks(), yardstickMs()]
  const all = after.all - before.all
  return [
    result,
    {
      yardstickMs: Math.max(msBefore, msAfter),
      stolenPercent: all > 0 ? (100 * (after.stolen - before.stolen)) / all : 0,
    },
  ]
}

/** From one place in memory to the next, each told by the last: some 50 ms. */
function yardstickMs(): number {
  const before = process.cpuUsage()
  for (let n = 0; n < steps; n++) sink = walk[sink] as number
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Each place once, in an order that is random, and the same in every run. */
function shuffledCycle(size: number): Uint32Array {
  const cycle = Uint32Array.from({ length: size }, (_, n) => n)
  let seed = 1
  for (let n = size - 1; n > 0; n--) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const other = seed % n
    ;[cycle[n], cycle[other]] = [cycle[other] as number, cycle[n] as number]
  }
  return cycle
}

/** In hundredths of a second, of all processors: user, nice, system, idle, iowait, irq, softirq, steal. */
function ticks(): { all: number; stolen: number } {
  try {
    const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
    const fields = first.trim().split(/\s+/).slice(1, 9).map(Number)
    return { all: fields.reduce((a, b) => a + b, 0), stolen: fields[7] ?? 0 }
  } catch {
    return { all: 0, stolen: 0 }
  }
}
