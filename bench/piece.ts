/**
 * A piece of work that is measured: as many jobs as take this system a few seconds, so that what it takes to start is a small
 * part of it, and a slow one does not take the time of all. How many that is comes from a warm-up, which everybody has before
 * anything is measured, and in which statements are counted.
 */
import type { Database } from '../src/store/database.js'
import { type Costs, costing } from './database-costs.js'
import type { System } from './system.js'
import type { Systems } from './systems.js'
import { sum } from './workers.js'

export interface Stage {
  /** A connection to look on from. */
  readonly db: Database
  readonly url: string
  readonly systems: Systems
  /** How much of the time is taken: 1 in a full run. */
  readonly scale: number
}

export interface Run {
  readonly label: string
  run(stage: Stage): Promise<Record<string, number>>
}

export interface Piece {
  readonly name: string
  /** The processes that do what is measured: the first of the system, if nothing is said. */
  readonly by?: (stage: Stage) => Promise<readonly System[]>
  /** On empty tables. */
  readonly prepare?: (stage: Stage, main: System, jobs: number) => Promise<unknown>
  readonly work: (systems: readonly System[], jobs: number, main: System) => Promise<Worked>
  readonly afterwards?: (systems: readonly System[]) => Promise<unknown>
  /** In a full run. */
  readonly seconds?: number
}

interface Worked {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly overshoot?: number
  readonly rssMb?: number
}

interface Known {
  readonly perSecond: number
  readonly statementsPerJob: number
  readonly commitsPerJob: number
}

const warmUpSeconds = 1
const jobsLeast = 200

export function measured(label: string, piece: Piece): Run {
  let known: Known | undefined
  return {
    label,
    run: async (stage) => {
      known ??= await warmedUp(stage, piece)
      const jobs = Math.max(jobsLeast, Math.round(known.perSecond * (piece.seconds ?? 3) * stage.scale))
      const { worked, costs } = await once(stage, piece, jobs, false)
      const { statementsPerJob, commitsPerJob } = known
      known = { ...known, perSecond: jobs / worked.seconds }
      const ofDatabase = { ...costsPerJob(costs, jobs), statementsPerJob, commitsPerJob }
      return {
        perSecond: known.perSecond,
        ...(stage.systems.isOnPostgres(piece.name) && ofDatabase),
        workerCpuMicrosPerJob: (worked.cpuSeconds / jobs) * 1e6,
        ...(worked.overshoot !== undefined && { overshoot: worked.overshoot }),
        ...(worked.rssMb !== undefined && { workerMb: worked.rssMb }),
      }
    },
  }
}

export function costsPerJob(costs: Costs, jobs: number): { walBytesPerJob: number; databaseCpuMicrosPerJob: number } {
  return {
    walBytesPerJob: costs.walBytes / jobs,
    databaseCpuMicrosPerJob: (costs.databaseCpuSeconds / jobs) * 1e6,
  }
}

/** The tables of all are analyzed after loading, and nobody pays for the pages that another has left to be written. */
export async function settle({ db }: Stage): Promise<void> {
  await db.once('vacuum (analyze, truncate off)')
  await db.once('checkpoint')
}

/** More and more, until about a second of it was done at a time: just-in-time compilers, plans, connections. */
async function warmedUp(stage: Stage, piece: Piece): Promise<Known> {
  const seconds = warmUpSeconds * stage.scale
  let jobs = jobsLeast
  for (let tries = 1; ; tries++) {
    const { worked, counts } = await once(stage, piece, jobs, true)
    const perSecond = jobs / worked.seconds
    if (worked.seconds > seconds / 2 || tries === 4) {
      return { perSecond, statementsPerJob: counts.statements / jobs, commitsPerJob: counts.commits / jobs }
    }
    jobs = Math.max(jobs, Math.min(jobs * 20, Math.round(perSecond * seconds)))
  }
}

async function once(stage: Stage, piece: Piece, jobs: number, counting: boolean) {
  const main = await stage.systems.main(piece.name)
  const systems = (await piece.by?.(stage)) ?? [main]
  try {
    await main.do('clear')
    await piece.prepare?.(stage, main, jobs)
    await settle(stage)
    if (counting) await Promise.all(systems.map((system) => system.do('beginCounting')))
    const [worked, costs] = await costing(stage.db, () => piece.work(systems, jobs, main))
    return { worked, costs, counts: await countsOf(counting ? systems : []) }
  } catch (error) {
    // It may still be at it; who comes next begins anew.
    for (const system of systems) system.kill()
    throw error
  } finally {
    await piece.afterwards?.(systems)
  }
}

async function countsOf(systems: readonly System[]): Promise<{ statements: number; commits: number }> {
  const counts = await Promise.all(
    systems.map((system) => system.do<{ statements: number; commits: number }>('endCounting')),
  )
  return {
    statements: sum(counts.map(({ statements }) => statements)),
    commits: sum(counts.map(({ commits }) => commits)),
  }
}
