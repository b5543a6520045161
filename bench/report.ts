/** The part of docs/internals/performance.md that a full run makes: the goals, the table, the plots. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Goal } from './goals.js'
import { plotOf } from './plot.js'
import type { Results } from './results.js'

export interface Told {
  readonly systems: Readonly<Record<string, { versions: Readonly<Record<string, string>>; settings: string }>>
  /** Why something was not measured. */
  readonly cannot: Readonly<Record<string, string>>
  readonly rows: ReturnType<Results['summary']>
  readonly goals: readonly Goal[]
}

const [begin, end] = ['<!-- figures: npm run bench -- --write -->', '<!-- end of figures -->']

export function plotsOf({ rows }: Told): { readonly name: string; readonly file: string; readonly svg: string }[] {
  return [...new Set(rows.map(({ workload }) => workload))].flatMap((name) => {
    const svg = plotOf(name, rows)
    return svg === undefined ? [] : [{ name, file: `${name.replaceAll(/\W+/g, '-')}.svg`, svg }]
  })
}

/** The page keeps what people have written around it. */
export function writePage(told: Told, internals: string): void {
  const page = join(internals, 'performance.md')
  const [before, after] = [readFileSync(page, 'utf8').split(begin)[0], readFileSync(page, 'utf8').split(end)[1]]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the figures`)
  mkdirSync(join(internals, 'performance'), { recursive: true })
  for (const { file, svg } of plotsOf(told)) writeFileSync(join(internals, 'performance', file), svg)
  writeFileSync(page, `${before}${begin}\n\n${partOf(told).join('\n')}\n\n${end}${after}`)
}

function partOf(told: Told): string[] {
  return [
    '| figure | value | goal | holds |',
    '|---|---:|---:|---|',
    ...told.goals.map(({ name, value, goal, holds }) =>
      row(name, value?.toFixed(2) ?? '–', goal, holds ? 'yes' : 'no'),
    ),
    '',
    '| workload | system | figure | median | spread |',
    '|---|---|---|---:|---:|',
    ...told.rows.map(({ workload, system, figure, median, spread }) =>
      row(workload, system, figure, median < 100 ? median.toFixed(1) : String(Math.round(median)), spread.toFixed(2)),
    ),
    '',
    '| system | versions | settings |',
    '|---|---|---|',
    ...Object.entries(told.systems).map(([name, { versions, settings }]) => {
      const texts = Object.entries(versions).map(([what, version]) => `${what} ${version}`)
      return row(name, texts.join(', '), settings)
    }),
    '',
    ...Object.entries(told.cannot).map(([what, why]) => `- Not measured: ${what}: ${why}`),
    ...plotsOf(told).map(({ name, file }) => `![${name}](performance/${file})`),
  ]
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
