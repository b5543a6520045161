const distanceMax = 3

/** The name that was probably meant, if one is near enough to be worth suggesting. */
export function nearestName(written: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined
  let nearestDistance = Math.min(distanceMax, Math.floor(written.length / 2)) + 1
  for (const name of new Set(names)) {
    if (Math.abs(name.length - written.length) >= nearestDistance) continue
    const distance = editDistance(written.toLowerCase(), name.toLowerCase())
    if (distance < nearestDistance) {
      nearest = name
      nearestDistance = distance
    }
  }
  return nearest
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, j) => j)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (last[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      let best = Math.min(replaced, (last[j] as number) + 1, (row[j - 1] as number) + 1)
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (swapped) best = Math.min(best, (beforeLast[j - 2] as number) + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[to.length] as number
}
