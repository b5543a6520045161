import { defineConfig } from 'vitest/config'

/** The tests of the rules that are mutated, none of which needs a database. */
export default defineConfig({
  test: {
    include: ['test/rules/{events,job-id,json,verdict}.test.ts', 'test/workflow/secret-flow.test.ts'],
    testTimeout: 60_000,
  },
})
