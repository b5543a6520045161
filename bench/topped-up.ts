/**
 * Enqueued and processed together for a time: one process works, another keeps the backlog as long as it was. So what is done
 * is the same whether the backlog is short or long, and whether the database may clean up behind it or not.
 */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { costing } from './database-costs.js'
import { costsPerJob, type Run, type Stage, settle } from './piece.js'
import type { System, WorkerTold } from './system.js'
import { fencepost } from './systems.js'

interface ToppedUp {
  readonly name?: string
  /** Of jobs without a gate, if nothing is said. */
  readonly kind?: 'noop' | 'oneGate'
  readonly backlog: number
  /** In a full run, and without the warm-up. */
  readonly seconds: number
  /** A sixth of that, if nothing is said: memory that was idle for a while may have been taken away. */
  readonly warmUpSeconds?: number
  readonly concurrency: number
  /** A transaction is held open that could still see everything that was there when the time began. */
  readonly pinned?: boolean
  /** It goes on with the backlog that the last round has left, in tables that have been worked on and hold nothing else. */
  readonly keeps?: boolean
}

interface Sample {
  readonly done: number
  /** In milliseconds. */
  readonly at: number
}

const lookMs = 25
const [longWarmUpSeconds, checkpointSeconds] = [30, 15]
/** A shorter one would be empty before anybody could add to it. */
const backlogLeast = 10_000
/** What is missing is added in portions of at least, and at most, so many. */
const [portionLeast, portionMost] = [500, 10_000]

export function toppedUp(label: string, asked: ToppedUp): Run {
  const { name = fencepost, kind = 'noop', concurrency } = asked
  return {
    label,
    run: async (stage) => {
      const loader = await stage.systems.main(name)
      const worker = await stage.systems.guest(name, 1)
      try {
        const backlog = Math.max(backlogLeast, Math.round(asked.backlog * stage.scale))
        const seconds = asked.seconds * stage.scale
        if (!asked.keeps) await loader.do('clear')
        const { left } = await loader.do<{ left: number }>('left')
        if (left < backlog) await loader.do('fill', { jobs: backlog - left, kind })
        if (asked.keeps) {
          if (left === 0) await worked({ worker, loader, kind, concurrency, seconds })
          await loader.do('forget')
        }
        await settle(stage)
        await worker.do('begin', { concurrency })
        const line = new Line(worker, loader, kind)
        await warmUp(stage, line, (asked.warmUpSeconds ?? asked.seconds / 6) * stage.scale)
        const pin = asked.pinned ? await pinnedXmin(stage) : undefined
        const [samples, costs] = await costing(stage.db, () => line.keepUp(seconds))
        await pin?.end()
        const { overshoot } = await worker.do<WorkerTold>('finish')
        const { jobs, ...rates } = ratesOf(samples)
        if (jobs === 0) throw new Error('no job was done in all that time')
        return { ...rates, ...costsPerJob(costs, jobs), ...(kind === 'oneGate' && { overshoot }) }
      } catch (error) {
        worker.kill()
        throw error
      }
    },
  }
}

interface Work {
  readonly worker: System
  readonly loader: System
  readonly kind: string
  readonly concurrency: number
  readonly seconds: number
}

/** After one that has written much, no checkpoint is due on the way. */
async function warmUp({ db }: Stage, line: Line, seconds: number): Promise<void> {
  if (seconds < longWarmUpSeconds) return void (await line.keepUp(seconds))
  await line.keepUp(seconds - checkpointSeconds)
  await Promise.all([db.once('checkpoint'), line.keepUp(checkpointSeconds)])
}

/** For so long, and unmeasured: what is measured next finds pages that were written before, as in tables that are emptied. */
async function worked({ worker, loader, kind, concurrency, seconds }: Work): Promise<void> {
  await worker.do('begin', { concurrency })
  await new Line(worker, loader, kind).keepUp(seconds)
  await worker.do('finish')
}

/** The worker at the head of it, the loader at its end. */
class Line {
  readonly #worker: System
  readonly #loader: System
  readonly #kind: string
  #done = 0
  #added = 0

  constructor(worker: System, loader: System, kind: string) {
    this.#worker = worker
    this.#loader = loader
    this.#kind = kind
  }

  async keepUp(seconds: number): Promise<Sample[]> {
    const until = performance.now() + seconds * 1_000
    const isOver = () => performance.now() >= until
    const [samples] = await Promise.all([this.#watch(isOver), this.#load(isOver)])
    return samples
  }

  async #watch(isOver: () => boolean): Promise<Sample[]> {
    const samples: Sample[] = []
    for (;;) {
      const { done, at } = await this.#worker.do<Sample>('count')
      samples.push({ done, at })
      this.#done = done
      if (isOver() && samples.length > 1) return samples
      await pause(lookMs)
    }
  }

  async #load(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const jobs = Math.min(this.#done - this.#added, portionMost)
      if (jobs < portionLeast) await pause(lookMs / 5)
      else {
        await this.#loader.do('fill', { jobs, kind: this.#kind })
        this.#added += jobs
      }
    }
  }
}

function ratesOf(samples: readonly Sample[]): { jobs: number; perSecond: number; lastToFirst: number } {
  const [first, last] = [samples[0], samples.at(-1)] as [Sample, Sample]
  const tenthMs = (last.at - first.at) / 10
  const jobs = last.done - first.done
  const inFirst = doneAt(samples, first.at + tenthMs) - first.done
  const inLast = last.done - doneAt(samples, last.at - tenthMs)
  return { jobs, perSecond: jobs / (tenthMs / 100), lastToFirst: inLast / inFirst }
}

/** Between two samples it is taken to be steady. */
function doneAt(samples: readonly Sample[], at: number): number {
  const next = samples.findIndex((sample) => sample.at >= at)
  const [a, b] = [samples[next - 1], samples[next]] as [Sample, Sample]
  return a.done + ((b.done - a.done) * (at - a.at)) / (b.at - a.at)
}

/** By a connection of its own: those of the product end a transaction that is idle for a minute. */
async function pinnedXmin({ url }: Stage): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  return client
}
