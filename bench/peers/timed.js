/** A number of callers, each doing the next thing as soon as it has done one, until there is nothing left (0). */
export async function timed(callers, act) {
  const tookMs = []
  let [next, done] = [0, 0]
  const begunAt = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (;;) {
        const at = performance.now()
        const n = await act(next++)
        if (n === 0) return
        tookMs.push(performance.now() - at)
        done += n
      }
    }),
  )
  return { perSecond: done / ((performance.now() - begunAt) / 1000), tookMs }
}
