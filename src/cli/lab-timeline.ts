import type { Bundle } from '../lab/catalogue.js'
import type { Played } from '../lab/play.js'
import type { Colour, Paint } from './colours.js'
import { type Column, tableLines } from './table.js'

interface Moment {
  readonly number: number
  readonly by: string
  readonly does: string
  readonly naive: string
  readonly guarded: string
}

const ifDifferent = (colour: Colour) => (row: Moment) => (row.naive === row.guarded ? undefined : colour)

const columns: readonly Column<Moment>[] = [
  { title: '', text: (row) => row.number, align: 'right', colour: () => 'dim' },
  { title: 'who', text: (row) => row.by, colour: () => 'dim' },
  { title: 'does', text: (row) => row.does },
  { title: 'without the guard', text: (row) => row.naive, colour: ifDifferent('red') },
  { title: 'with the guard', text: (row) => row.guarded, colour: ifDifferent('green') },
]

/** The two plays of one scenario side by side: who did what when, what came of it, and where the invariant broke. */
export function timelineLines(bundle: Bundle, naive: Played, guarded: Played, paint: Paint): string[] {
  const { id, name, story } = bundle.scenario
  const longer = naive.steps.length > guarded.steps.length ? naive : guarded
  const moments = longer.steps.map(({ by, does }, index) => ({
    number: index + 1,
    by,
    does,
    naive: naive.steps[index]?.note ?? '',
    guarded: guarded.steps[index]?.note ?? '',
  }))
  return [
    paint('bold', `${id}  ${name}`),
    story,
    '',
    ...tableLines(columns, moments, { paint }).map((line) => `  ${line}`),
    '',
    ...verdictLines('without the guard', naive, paint),
    ...verdictLines('with the guard', guarded, paint),
  ]
}

function verdictLines(label: string, { violations }: Played, paint: Paint): string[] {
  if (violations.length === 0) return [`  ${paint('green', `${label}: held`)}`]
  return [`  ${paint('red', `${label}: violated`)}`, ...violations.map((violation) => `    ${violation}`)]
}
