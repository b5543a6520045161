/** A row of two lists that are compared; undefined where one has nothing beside the other. */
export type Pair = readonly [left: string | undefined, right: string | undefined]

/** Beyond this, the lists are compared place by place: the table of all pairs would be too large. */
const lengthMax = 1_000

/** Two lists beside each other, so that as much as can be stands beside its like. */
export function sideBySide(left: readonly string[], right: readonly string[]): Pair[] {
  if (Math.max(left.length, right.length) > lengthMax) return paired(left, right)
  const pairs: Pair[] = []
  let [i, j] = [0, 0]
  for (const [k, l] of [...common(left, right), [left.length, right.length] as const]) {
    pairs.push(...paired(left.slice(i, k), right.slice(j, l)))
    if (k < left.length) pairs.push([left[k], right[l]])
    ;[i, j] = [k + 1, l + 1]
  }
  return pairs
}

function paired(left: readonly string[], right: readonly string[]): Pair[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, n) => [left[n], right[n]])
}

/** The places of the longest sequence that both have. */
function common(left: readonly string[], right: readonly string[]): (readonly [number, number])[] {
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1))
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0
  for (let i = left.length - 1; i >= 0; i--) {
    const row = lengths[i] as Uint16Array
    for (let j = right.length - 1; j >= 0; j--) {
      row[j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const places: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) places.push([i++, j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return places
}
