import { expect, it } from 'vitest'
import { documentWithTotals, readDocument, readLog } from '../torture/run-log.js'

it('docs/internals/reliability.md tells what the logged runs add up to: `npm run torture -- --totals` writes it', () => {
  const document = readDocument()
  expect(document).toBe(documentWithTotals(document, readLog()))
})

it('every logged run tells its seed, its figures and whether everything held', () => {
  for (const run of readLog()) {
    expect(run).toMatchObject({ seed: expect.any(Number), minutes: expect.any(Number), violations: expect.any(Number) })
    expect(run.holds).toBe(run.violations === 0)
    expect(Object.values(run.figures).every((figure) => Number.isSafeInteger(figure) && figure >= 0)).toBe(true)
  }
})
