import type { Bundle } from '../lab/catalogue.js'
import type { SeenPlay } from '../lab/lab.js'
import type { Colour, Paint } from './colours.js'
import { wrapped } from './lab-text.js'
import { sideBySide } from './side-by-side.js'
import { type Column, tableLines } from './table.js'

interface Moment {
  readonly number: number
  readonly by: string
  readonly does: string
  readonly naive: string
  readonly guarded: string
  /** Here an invariant broke, without the guard. */
  readonly broke: boolean
}

interface Differing {
  readonly table: string
  readonly naive: string
  readonly guarded: string
}

export interface Paper {
  readonly paint: Paint
  /** In columns; what does not fit side by side is written one below the other. */
  readonly width: number
}

const rowsMax = 12
const mark = '✗'

const ifDifferent = (colour: Colour) => (row: { naive: string; guarded: string }) =>
  row.naive === row.guarded ? undefined : colour

const momentColumns: readonly Column<Moment>[] = [
  { title: '', text: (row) => (row.broke ? mark : ''), colour: () => 'red' },
  { title: '', text: (row) => row.number, align: 'right', colour: () => 'dim' },
  { title: 'who', text: (row) => row.by, colour: () => 'dim' },
  { title: 'does', text: (row) => row.does },
  { title: 'without the guard', text: (row) => row.naive, colour: ifDifferent('red') },
  { title: 'with the guard', text: (row) => row.guarded, colour: ifDifferent('green') },
]

const rowColumns: readonly Column<Differing>[] = [
  { title: 'table', text: (row) => row.table, colour: () => 'dim' },
  { title: 'without the guard', text: (row) => row.naive, colour: () => 'red' },
  { title: 'with the guard', text: (row) => row.guarded, colour: () => 'green' },
]

/** The two plays of one scenario side by side: who did what when, where the invariant broke, and the rows that show it. */
export function timelineLines(bundle: Bundle, naive: SeenPlay, guarded: SeenPlay, paper: Paper): string[] {
  const { id, name, story } = bundle.scenario
  const { paint, width } = paper
  const longer = naive.steps.length > guarded.steps.length ? naive : guarded
  const moments = longer.steps.map(({ by, does }, index) => ({
    number: index + 1,
    by,
    does,
    naive: naive.steps[index]?.note ?? '',
    guarded: guarded.steps[index]?.note ?? '',
    broke: naive.brokeAt.includes(index + 1),
  }))
  return [
    paint('bold', `${id}  ${name}`),
    ...wrapped(story, width),
    '',
    ...fitted(
      momentColumns,
      moments,
      paper,
      (row) => `${row.number}.${row.broke ? ` ${paint('red', mark)}` : ''} ${row.by}: ${row.does}`,
    ),
    '',
    ...verdictLines('without the guard', naive, paper),
    ...verdictLines('with the guard', guarded, paper),
    ...rowLines(naive, guarded, paper),
  ]
}

/** As a table, if it fits; otherwise each row with its two sides below it. */
function fitted<Row extends { naive: string; guarded: string }>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { paint, width }: Paper,
  head: (row: Row) => string,
): string[] {
  const plain = tableLines(columns, rows).map((line) => `  ${line}`)
  if (plain.every((line) => line.length <= width))
    return tableLines(columns, rows, { paint }).map((line) => `  ${line}`)
  const side = (label: string, text: string, colour?: Colour) => {
    const lines = wrapped(text, width - 15).map((line) => (colour ? paint(colour, line) : line))
    return lines.map((line, n) => `      ${paint('dim', (n === 0 ? label : '').padEnd(8))} ${line}`)
  }
  return rows.flatMap((row) => [
    ...wrapped(head(row), width - 6).map((line, n) => (n === 0 ? `  ${line}` : `      ${line}`)),
    ...(row.naive === row.guarded
      ? side('both', row.naive)
      : [...side('without', row.naive || '–', 'red'), ...side('with', row.guarded || '–', 'green')]),
  ])
}

function verdictLines(label: string, { violations, brokeAt }: SeenPlay, { paint, width }: Paper): string[] {
  if (violations.length === 0) return [`  ${paint('green', `${label}: held`)}`]
  const told = violations.map((violation, n) => `${violation} (${mark} ${brokeAt[n]})`)
  return [
    `  ${paint('red', `${label}: violated`)}`,
    ...told.flatMap((violation) =>
      wrapped(violation, width - 6).map((line, n) => (n === 0 ? `    ${line}` : `      ${line}`)),
    ),
  ]
}

/** What the tables said when it broke, where the two plays differ. */
function rowLines(naive: SeenPlay, guarded: SeenPlay, paper: Paper): string[] {
  const of = ({ rows }: SeenPlay, table: string) => rows.filter((row) => row.table === table).map(({ row }) => row)
  const tables = [...new Set([...naive.rows, ...guarded.rows].map(({ table }) => table))]
  const differing = tables.flatMap((table) =>
    sideBySide(of(naive, table), of(guarded, table))
      .filter(([left, right]) => left !== right)
      .map(([left = '', right = '']) => ({ table, naive: left, guarded: right })),
  )
  if (differing.length === 0 || naive.brokeAt.length === 0) return []
  const more = differing.length - rowsMax
  return [
    '',
    `  the rows that differ after ${mark} ${Math.min(...naive.brokeAt)}`,
    ...fitted(rowColumns, differing.slice(0, rowsMax), paper, (row) => `  ${row.table}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}
