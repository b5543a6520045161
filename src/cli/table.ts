import { type Colour, type Paint, paintFor } from './colours.js'
import { printable } from './printable.js'

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string | number
  readonly colour?: (row: Row) => Colour | undefined
  readonly align?: 'right'
}

const gap = '  '

/** Aligned lines, the titles first. On a terminal the last column is cut at the edge, so that a row stays a line. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { paint = (_, text) => text, width = Number.POSITIVE_INFINITY }: { paint?: Paint; width?: number } = {},
): string[] {
  const texts = rows.map((row) => columns.map((column) => printable(String(column.text(row)))))
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...texts.map((cells) => (cells[i] as string).length)),
  )
  const lastRoom = width - widths.slice(0, -1).reduce((sum, each) => sum + each + gap.length, 0)
  const line = (cells: readonly string[], colours: readonly (Colour | undefined)[]) =>
    cells
      .map((cell, i) => {
        const isLast = i === columns.length - 1
        const fitted = isLast ? cut(cell, lastRoom) : cell
        const colour = colours[i]
        const padding = ' '.repeat(isLast && columns[i]?.align !== 'right' ? 0 : (widths[i] as number) - cell.length)
        const painted = colour ? paint(colour, fitted) : fitted
        return columns[i]?.align === 'right' ? padding + painted : painted + padding
      })
      .join(gap)
      .trimEnd()
  return [
    line(
      columns.map((column) => column.title),
      columns.map(() => 'dim'),
    ),
    ...rows.map((row, i) =>
      line(
        texts[i] as string[],
        columns.map((column) => column.colour?.(row)),
      ),
    ),
  ]
}

export function printTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { cutAtEdge = true }: { cutAtEdge?: boolean } = {},
): void {
  const { stdout } = process
  const options = { paint: paintFor(stdout), ...(cutAtEdge && stdout.isTTY ? { width: stdout.columns } : {}) }
  for (const line of tableLines(columns, rows, options)) console.log(line)
}

function cut(text: string, room: number): string {
  if (text.length <= room) return text
  return room > 1 ? `${text.slice(0, room - 1)}…` : text
}
