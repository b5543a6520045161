export function times(n) {
  return n === 0 ? 'never' : n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`
}

/** How many handlers were at work at the same moment. One is over when it says so (`worked`), before the queue hears of it. */
export function mostAtOnce(stage) {
  const moments = [
    ...stage.began().map(({ at }) => ({ at, change: 1 })),
    ...[...stage.told('worked'), ...stage.told('threw')].map(({ at }) => ({ at, change: -1 })),
  ].toSorted((a, b) => a.at - b.at || a.change - b.change)
  let [now, most] = [0, 0]
  for (const { change } of moments) {
    now += change
    most = Math.max(most, now)
  }
  return most
}
