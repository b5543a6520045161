import { defineConfig } from 'vitest/config'

/** Only what needs no database; not what compares texts of the docs, or measures costs. */
export default defineConfig({
  test: {
    include: ['test/{rules,workflow}/**/*.test.ts'],
    exclude: ['test/**/{imports,typing,expression-cost,expression-properties,expressions-page}.test.ts'],
    testTimeout: 60_000,
  },
})
