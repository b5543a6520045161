/** A bar for each system, as an SVG that a page can show. */
import type { Row } from './results.js'

const barPx = 26
const labelPx = 290
const widthPx = 800

/** What a workload is about: the first of these that it has. */
const subjects = [
  { figure: 'workerMb', unit: 'MB (shorter is better)' },
  { figure: 'perSecond', unit: 'per second' },
  { figure: 'p99Ms', unit: 'ms (99th percentile; shorter is better)' },
]

/** Undefined if there is nothing to show of it. */
export function plotOf(workload: string, rows: readonly Row[]): string | undefined {
  const here = rows.filter((row) => row.workload === workload)
  const subject = subjects.find(({ figure }) => here.some((row) => row.figure === figure))
  if (!subject) return undefined
  const bars = here.filter(({ figure }) => figure === subject.figure).toSorted((a, b) => b.median - a.median)
  const most = Math.max(...bars.map(({ median }) => median))
  // Where nobody else is, all are ours.
  const isAmongOthers = bars.some(({ system }) => system.startsWith('fencepost'))
  const drawn = bars.map(({ system, median, spread }, n) => {
    const y = 40 + n * barPx
    const width = Math.max(1, ((widthPx - labelPx - 150) * median) / most)
    const colour = !isAmongOthers || system.startsWith('fencepost') ? '#0f766e' : '#94a3b8'
    const value = subject.figure === 'p99Ms' ? median.toFixed(1) : Math.round(median).toLocaleString('en')
    return [
      `<text x="${labelPx - 8}" y="${y + 15}" text-anchor="end">${escaped(system)}</text>`,
      `<rect x="${labelPx}" y="${y}" width="${width.toFixed(1)}" height="${barPx - 8}" fill="${colour}"/>`,
      `<text x="${(labelPx + width + 6).toFixed(1)}" y="${y + 15}">${value} ± ${Math.round(spread * 50)} %</text>`,
    ].join('\n')
  })
  const height = 50 + bars.length * barPx
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${widthPx} ${height}" width="${widthPx}" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%" height="100%" fill="white"/>
<text x="12" y="22" font-size="15" font-weight="600">${escaped(workload)}: ${subject.unit}</text>
${drawn.join('\n')}
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
