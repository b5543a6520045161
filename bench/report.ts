/** What a run tells: tables, plots, and the part of docs/internals/performance.md that a full run makes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Goal } from './goals.js'
import { plotOf } from './plot.js'
import type { Row } from './results.js'
import type { About } from './systems.js'
import { postgresPeers } from './workloads.js'

export interface Told {
  readonly systems: Readonly<Record<string, About>>
  /** Why something was not measured. */
  readonly cannot: Readonly<Record<string, string>>
  readonly rows: readonly Row[]
  readonly goals: readonly Goal[]
}

const [begin, end] = ['<!-- figures: npm run bench -- --write -->', '<!-- end of figures -->']

/** In the order in which they are shown. */
const columns: Readonly<Record<string, string>> = {
  perSecond: 'per second',
  p50Ms: 'p50 ms',
  p99Ms: 'p99 ms',
  lastToFirst: 'last tenth / first',
  overshoot: 'overshoot',
  walBytesPerJob: 'WAL bytes / job',
  statementsPerJob: 'statements / job',
  commitsPerJob: 'commits / job',
  databaseCpuMicrosPerJob: 'database µs / job',
  workerCpuMicrosPerJob: 'client µs / job',
  workerMb: 'worker MB',
  yardstickMs: 'yardstick ms',
  stolenPercent: 'stolen %',
}
/** What a ratio and a spread are told of: the first of these that a workload has. */
const leading = ['workerMb', 'perSecond', 'p50Ms']

/** A line for each system of a workload: its leading figure with spread and ratio, then the others. */
export function tableOf(workload: string, rows: readonly Row[]): { system: string; [column: string]: string }[] {
  const here = rows.filter((row) => row.workload === workload)
  const figures = Object.keys(columns).filter((figure) => here.some((row) => row.figure === figure))
  const lead = leading.find((figure) => figures.includes(figure))
  const systems = [...new Set(here.map(({ system }) => system))]
  return systems.map((system) => {
    const of = (figure: string | undefined) => here.find((row) => row.system === system && row.figure === figure)
    const [first, ratio] = [of(lead), of(lead)?.ratio]
    return {
      system,
      ...Object.fromEntries(figures.map((figure) => [columns[figure], shown(of(figure)?.median)])),
      spread: first === undefined ? '–' : `± ${Math.round(first.spread * 50)} %`,
      ...(here.some((row) => row.ratio !== undefined) && { 'fencepost / it': shown(ratio) }),
    }
  })
}

export function workloadsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.map(({ workload }) => workload))]
}

export function plotsOf({ rows }: Told): { readonly name: string; readonly file: string; readonly svg: string }[] {
  return workloadsOf(rows).flatMap((name) => {
    const svg = plotOf(name, rows)
    return svg === undefined ? [] : [{ name, file: `${name.replaceAll(/\W+/g, '-')}.svg`, svg }]
  })
}

/** The page of all figures, and the first ones in the README. */
export function writePages(told: Told, root: string): void {
  const internals = join(root, 'docs', 'internals')
  mkdirSync(join(internals, 'performance'), { recursive: true })
  for (const { file, svg } of plotsOf(told)) writeFileSync(join(internals, 'performance', file), svg)
  writePart(join(internals, 'performance.md'), partOf(told))
  writePart(join(root, 'README.md'), headlinesOf(told))
}

/** The page keeps what people have written around it. */
function writePart(page: string, lines: readonly string[]): void {
  const [before, after] = [readFileSync(page, 'utf8').split(begin)[0], readFileSync(page, 'utf8').split(end)[1]]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the figures`)
  writeFileSync(page, `${before}${begin}\n\n${lines.join('\n')}\n\n${end}${after}`)
}

/** Against each peer as it does best: how many times as many jobs a second, and what part of its time. */
function headlinesOf({ rows }: Told): string[] {
  const headlines: Readonly<Record<string, readonly [workload: string, figure: 'perSecond' | 'p50Ms']>> = {
    'no-op jobs': ['no-op jobs, at its best', 'perSecond'],
    'concurrency 10': ['no-op jobs, concurrency 10', 'perSecond'],
    'enqueued in bulk': ['enqueue in bulk', 'perSecond'],
    'one by one': ['enqueue one by one, 20 callers', 'perSecond'],
    'p50 latency': ['latency at 100 jobs/s', 'p50Ms'],
  }
  const cell = (peer: string, [workload, figure]: readonly [string, 'perSecond' | 'p50Ms']) => {
    const ratios = rows
      .filter((row) => row.workload === workload && row.figure === figure)
      .filter(({ system }) => system === peer || system.startsWith(`${peer}, `))
      .flatMap(({ ratio }) => (ratio === undefined ? [] : [ratio]))
    return shown(ratios.length === 0 ? undefined : Math[figure === 'perSecond' ? 'min' : 'max'](...ratios))
  }
  return [
    lineOf('Fencepost against', ...Object.keys(headlines)),
    `|---|${'---:|'.repeat(Object.keys(headlines).length)}`,
    ...[...postgresPeers, 'bullmq on Redis'].map((peer) =>
      lineOf(peer, ...Object.values(headlines).map((headline) => cell(peer, headline))),
    ),
  ]
}

function partOf(told: Told): string[] {
  const plots = plotsOf(told)
  return [
    '| figure | value | goal | holds |',
    '|---|---:|---:|---|',
    ...told.goals.map(({ name, value, goal, holds }) => lineOf(name, shown(value), goal, holds ? 'yes' : 'no')),
    '',
    '| system | versions | settings |',
    '|---|---|---|',
    ...Object.entries(told.systems).map(([name, { versions, settings }]) => {
      const texts = Object.entries(versions).map(([what, version]) => `${what} ${version}`)
      return lineOf(name, texts.join(', '), settings)
    }),
    ...workloadsOf(told.rows).flatMap((name) => {
      const plot = plots.find((one) => one.name === name)
      const table = tableOf(name, told.rows)
      const heads = Object.keys(table[0] ?? {})
      return [
        '',
        `### ${name[0]?.toUpperCase()}${name.slice(1)}`,
        '',
        ...(plot === undefined ? [] : [`![${name}](performance/${plot.file})`, '']),
        lineOf(...heads),
        `|---|${'---:|'.repeat(heads.length - 1)}`,
        ...table.map((line) => lineOf(...heads.map((head) => line[head] ?? '–'))),
      ]
    }),
    ...Object.entries(told.cannot).flatMap(([what, why]) => ['', `- Not measured: ${what}: ${why}`]),
  ]
}

function lineOf(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** As many digits as tell something. */
export function shown(value: number | undefined): string {
  if (value === undefined) return '–'
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
