/** Two callers that share the numbers up to `count` in batches of `most`: `add(first, size)` stores one of them. */
export async function inBatches(count, most, add) {
  let next = 0
  const caller = async () => {
    while (next < count) {
      const first = next
      next += most
      await add(first, Math.min(most, count - first))
    }
  }
  await Promise.all([caller(), caller()])
}
