import { setupRunMoves } from './runs.js'

const refunds = `
name: refunds
tasks:
  - name: refund
    action: refund
    with_items: [1, 2, 3]
    next:
      - { when: "{{ succeeded() }}", do: continue }
      - { when: "{{ failed() }}", do: remedy }
  - name: remedy
    action: remedy
`

/** A run of three items, all of them leased, and what follows if they fail. */
export async function setupRefunds() {
  const world = await setupRunMoves()
  const run = await world.start(refunds)
  await world.steps.advanceAll()
  return { ...world, run }
}

/** All items fail at the same time, and each of their workers decides on that before any of them goes on. */
export async function failTogether(world: Awaited<ReturnType<typeof setupRefunds>>): Promise<string[]> {
  await world.runItems(['refund'], 'fail')
  const hands = [1, 2, 3].map(() => world.stepsOn(world.db))
  for (const hand of hands) {
    await hand.take()
    await world.advance(11_000) // longer than the run counts as busy
  }
  const answers: string[] = []
  for (const hand of hands) answers.push(await hand.advance())
  return answers
}
