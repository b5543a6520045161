/** What was measured, kept as it comes: a run that was stopped goes on where it was. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { median } from './stage.js'
import type { About } from './systems.js'

export interface Measurement {
  readonly workload: string
  readonly system: string
  readonly round: number
  /** Larger is better for rates; latencies and costs have names of their own. */
  readonly figures: Readonly<Record<string, number>>
}

export interface Row {
  readonly workload: string
  readonly system: string
  readonly figure: string
  readonly median: number
  /** How far apart the rounds were: (most − least) / median. */
  readonly spread: number
  /** Fencepost's against this one's, if it is in the same workload: the median of the ratios of the rounds. */
  readonly ratio: number | undefined
  readonly rounds: number
}

export class Results {
  readonly #path: string
  readonly #all: Measurement[] = []
  /** The systems that were started, also by the run that this one goes on with. */
  readonly systems: Record<string, About> = {}

  constructor(path: string, resume: boolean) {
    this.#path = path
    mkdirSync(dirname(path), { recursive: true })
    if (!resume) rmSync(path, { force: true })
    if (!existsSync(path)) return
    // What was being written when it was stopped is no whole line.
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
    for (const line of lines) this.#hear(JSON.parse(line) as Measurement | { name: string; about: About })
  }

  #hear(line: Measurement | { name: string; about: About }): void {
    if ('about' in line) this.systems[line.name] = line.about
    else this.#all.push(line)
  }

  #keep(line: Measurement | { name: string; about: About }): void {
    this.#hear(line)
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`)
  }

  started(name: string, about: About): void {
    this.#keep({ name, about })
  }

  add(measurement: Measurement): void {
    this.#keep(measurement)
  }

  has(workload: string, system: string, round: number): boolean {
    return this.#all.some((one) => one.workload === workload && one.system === system && one.round === round)
  }

  values(workload: string, system: string, figure: string): number[] {
    return [...this.#byRound(workload, system, figure).values()]
  }

  #byRound(workload: string, system: string, figure: string): Map<number, number> {
    const found = this.#all
      .filter((one) => one.workload === workload && one.system === system && one.figures[figure] !== undefined)
      .toSorted((a, b) => a.round - b.round)
    return new Map(found.map(({ round, figures }) => [round, figures[figure] as number]))
  }

  summary(): Row[] {
    const keys = new Set(
      this.#all.flatMap(({ workload, system, figures }) =>
        Object.keys(figures).map((figure) => JSON.stringify([workload, system, figure])),
      ),
    )
    return [...keys].map((key) => {
      const [workload, system, figure] = JSON.parse(key) as [string, string, string]
      const values = this.values(workload, system, figure)
      const middle = median(values)
      const spread = middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / middle
      const ratio = this.ratio(workload, ['fencepost', system], figure)
      return { workload, system, figure, median: middle, spread, ratio, rounds: values.length }
    })
  }

  /** The median of the ratios of each round: what disturbs a round disturbs both. Undefined if one of them has nothing. */
  ratio(workload: string, [ours, theirs]: readonly [string, string], figure: string): number | undefined {
    const [a, b] = [this.#byRound(workload, ours, figure), this.#byRound(workload, theirs, figure)]
    const ratios = [...a].flatMap(([round, value]) => (b.has(round) ? [value / (b.get(round) as number)] : []))
    return ratios.length === 0 ? undefined : median(ratios)
  }
}
