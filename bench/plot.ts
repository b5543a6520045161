/** A bar for each system, as an SVG that a page can show. */
interface Row {
  readonly workload: string
  readonly system: string
  readonly figure: string
  readonly median: number
  readonly spread: number
}

const barPx = 26
const labelPx = 250
const widthPx = 760

/** Undefined if there is nothing to show of it. */
export function plotOf(workload: string, rows: readonly Row[]): string | undefined {
  const figure = rows.some((row) => row.workload === workload && row.figure === 'perSecond') ? 'perSecond' : 'p99Ms'
  const shown = rows
    .filter((row) => row.workload === workload && row.figure === figure)
    .toSorted((a, b) => b.median - a.median)
  if (shown.length === 0) return undefined
  const most = Math.max(...shown.map(({ median }) => median))
  const unit = figure === 'perSecond' ? 'per second' : 'ms (99th percentile; shorter is better)'
  const bars = shown.map(({ system, median, spread }, n) => {
    const y = 40 + n * barPx
    const width = Math.max(1, ((widthPx - labelPx - 150) * median) / most)
    const colour = system === 'fencepost' ? '#0f766e' : '#94a3b8'
    const value = figure === 'perSecond' ? Math.round(median).toLocaleString('en') : median.toFixed(1)
    return [
      `<text x="${labelPx - 8}" y="${y + 15}" text-anchor="end">${escaped(system)}</text>`,
      `<rect x="${labelPx}" y="${y}" width="${width.toFixed(1)}" height="${barPx - 8}" fill="${colour}"/>`,
      `<text x="${(labelPx + width + 6).toFixed(1)}" y="${y + 15}">${value} ± ${Math.round(spread * 50)} %</text>`,
    ].join('\n')
  })
  const height = 50 + shown.length * barPx
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${widthPx} ${height}" width="${widthPx}" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%" height="100%" fill="white"/>
<text x="12" y="22" font-size="15" font-weight="600">${escaped(workload)}: ${unit}</text>
${bars.join('\n')}
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
