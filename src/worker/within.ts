/** Whether it came in time. */
export async function within(ms: number, awaited: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const inTime = await Promise.race([
    awaited.then(
      () => true,
      () => false,
    ),
    late,
  ])
  clearTimeout(timer)
  return inTime
}
