import { mkdir, mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fencepost } from '../../src/index.js'
import { Database } from '../../src/store/database.js'
import type { AddressInfo } from 'node:net'
import { check, type Violation } from './checker/checker.js'
import { readHistory } from './checker/history.js'
import { countFresh } from './checker/fresh-enqueues.js'
import { countZombies } from './checker/zombies.js'
import { Disturber } from './disturber.js'
import { allSlots, faultsOf, slots, sqsServers } from './faults.js'
import { readFinalState } from './final-state.js'
import { Fleet } from './fleet.js'
import { Journal, nowMs } from './journal.js'
import { createMailQueue } from './mail.js'
import { Provider } from './provider.js'
import { removeDirectory, TortureServer } from './server.js'
import { changedGates, type Plan } from './work.js'

export interface TortureOptions {
  readonly plan: Plan
  readonly server: 'system' | 'embedded'
  /** Leave journals and data where they are. */
  readonly keep: boolean
  /** Told now and then what has happened so far. */
  readonly onProgress: (text: string) => void
  readonly signal: AbortSignal
}

export interface Tortured extends Plan {
  readonly postgres: string
  readonly figures: Readonly<Record<string, number>>
  readonly violations: readonly Violation[]
  readonly holds: boolean
}

/** When nothing disturbs it any more, something has to end within this time. */
const stillMsMax = 60_000

/** One run: the world is made, tormented, let come to rest, and judged. Nothing of it is left, however it ends. */
export async function torture(options: TortureOptions): Promise<Tortured> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-torture-'))
  const closers: (() => unknown)[] = [() => (options.keep ? undefined : removeDirectory(directory))]
  const world = inWorld(directory, closers, options)
  const closeAll = async () => {
    for (let close = closers.pop(); close; close = closers.pop()) await close()
  }
  try {
    return await Promise.race([world, aborted(options.signal)])
  } finally {
    const removal = closers.shift() as () => unknown
    await closeAll()
    // What it was about to make when it was told to stop is there now, or will never be.
    await world.catch(() => {})
    await closeAll()
    await removal()
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason as Error)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

async function inWorld(directory: string, closers: (() => unknown)[], options: TortureOptions): Promise<Tortured> {
  const { plan, signal, onProgress } = options
  const { seed, minutes } = plan
  const journals = join(directory, 'journals')
  await mkdir(journals)
  if (options.keep) onProgress(`journals are kept in ${journals}`)
  const driver = new Journal(join(journals, 'driver.jsonl'))
  const server = await TortureServer.start(directory, options.server)
  closers.push(() => server.stop())
  const provider = await Provider.start(new Journal(join(journals, 'provider.jsonl')))
  closers.push(() => provider.stop())
  const sqsPorts = await freePorts(sqsServers)
  const beganAtMs = nowMs() + 3_000
  driver.write('clock', Date.now())
  const fleet = await Fleet.start(server.url, journals, driver, {
    ...plan,
    beganAtMs,
    providerUrl: provider.url,
    sqsPorts,
  })
  closers.push(() => fleet.close())
  const fp = await fencepost({ database: server.url, migrate: false, poolSize: 2 })
  // Not waited for: what they are at ends with the server.
  closers.push(() => void fp.close().catch(() => {}))

  for (const name of slots.sqs) await once(fleet.spawn(name), 'message', { signal })
  await createMailQueue(sqsPorts)
  for (const name of [...slots.worker, ...slots.producer, ...slots.client, ...slots.carrier]) fleet.spawn(name)

  const disturber = new Disturber(server, fleet, fp, driver)
  const live = setInterval(() => onProgress(progressText(beganAtMs, minutes, disturber)), 1_000)
  closers.push(() => clearInterval(live))
  await disturber.run(faultsOf(seed, minutes), beganAtMs, signal)
  await pause(Math.max(0, beganAtMs + minutes * 60_000 - nowMs()), undefined, { signal })
  await disturber.end()
  for (const [key, declared] of Object.entries(changedGates)) {
    driver.write('limit', key, declared)
    await fp.setLimit(key, null)
    driver.write('limited', key, declared)
  }

  clearInterval(live)
  onProgress('coming to rest')
  await fleet.end([...slots.producer, ...slots.carrier])
  const db = new Database({ url: server.url })
  closers.push(() => void db.close().catch(() => {}))
  await rest(db, signal)
  onProgress('stopping')
  await fleet.end(slots.client) // while there is somebody to answer it
  await fleet.end(allSlots)
  await server.readLog()

  onProgress('judging: the histories')
  const history = readHistory(journals, plan)
  onProgress('judging: the database')
  const final = await readFinalState(db, server, fleet)
  onProgress('judging: the rules')
  const violations = check(history, final)
  const figures = { ...disturber.figures, zombies: countZombies(history), ...countFresh(history), ...final.figures }
  return { ...plan, postgres: server.version, figures, violations, holds: violations.length === 0 }
}

/** Until no job is under way, and no run, or nothing ends any more: what is still there is for the checker to name. */
async function rest(db: Database, signal: AbortSignal): Promise<void> {
  let [before, sinceMs] = [-1, nowMs()]
  while (nowMs() - sinceMs < stillMsMax) {
    signal.throwIfAborted()
    const [left] = await db.read<{ jobs: number; runs: number; ended: number }>(
      `select (select count(*) from fencepost.run where ended_at is null) as runs,
              (select count(*) from fencepost.finished) as ended,
              ${['ready', 'waiting', 'leased', 'delayed', 'parked'].map((place) => `(select count(*) from fencepost.${place})`).join(' + ')} as jobs`,
    )
    if (!left || (left.jobs === 0 && left.runs === 0)) return
    if (left.ended !== before) [before, sinceMs] = [left.ended, nowMs()]
    await pause(500)
  }
}

function progressText(beganAtMs: number, minutes: number, { figures }: Disturber): string {
  const seconds = Math.max(0, Math.round((nowMs() - beganAtMs) / 1_000))
  const { kills, stops, cutCommits, stalled, crashes, restarts } = figures
  return `${seconds} of ${minutes * 60} s: ${kills} kills, ${stops} stops, ${cutCommits} cut commits, ${stalled} stalls, ${crashes} crashes, ${restarts} restarts`
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
