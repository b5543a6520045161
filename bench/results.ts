/** What was measured, kept as it comes: a run that was stopped goes on where it was. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { median } from './stage.js'

export interface Measurement {
  readonly workload: string
  readonly system: string
  readonly round: number
  /** Larger is better for rates; latencies and costs have names of their own. */
  readonly figures: Readonly<Record<string, number>>
}

export class Results {
  readonly #path: string
  readonly #all: Measurement[] = []

  constructor(path: string, resume: boolean) {
    this.#path = path
    mkdirSync(dirname(path), { recursive: true })
    if (!resume) rmSync(path, { force: true })
    if (existsSync(path)) {
      const lines = readFileSync(path, 'utf8').trim().split('\n').filter(Boolean)
      this.#all.push(...lines.map((line) => JSON.parse(line) as Measurement))
    }
  }

  has(workload: string, system: string, round: number): boolean {
    return this.#all.some((one) => one.workload === workload && one.system === system && one.round === round)
  }

  add(measurement: Measurement): void {
    this.#all.push(measurement)
    appendFileSync(this.#path, `${JSON.stringify(measurement)}\n`)
  }

  values(workload: string, system: string, figure: string): number[] {
    return this.#all
      .filter((one) => one.workload === workload && one.system === system && one.figures[figure] !== undefined)
      .toSorted((a, b) => a.round - b.round)
      .map((one) => one.figures[figure] as number)
  }

  /** The median, and how far apart the rounds were: (most − least) / median. */
  summary(): { workload: string; system: string; figure: string; median: number; spread: number; rounds: number }[] {
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
      return { workload, system, figure, median: middle, spread, rounds: values.length }
    })
  }

  /** The median of the ratios of each round: what disturbs a round disturbs both. Undefined if one of them has nothing. */
  ratio(workload: string, [ours, theirs]: readonly [string, string], figure: string): number | undefined {
    const [a, b] = [this.values(workload, ours, figure), this.values(workload, theirs, figure)]
    const ratios = a.slice(0, b.length).map((value, round) => value / (b[round] as number))
    return ratios.length === 0 ? undefined : median(ratios)
  }
}
