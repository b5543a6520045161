import { configDefaults, defineConfig } from 'vitest/config'
import { systemPrograms } from './test/harness/test-server.js'

const onDatabase = ['test/{store,client,worker,lab,audit,observe}/**/*.test.ts', 'failure-modes/**/*.test.ts']
/** About processes, signals and a pooler, not about a version of PostgreSQL, and slow: once is enough. */
const once = ['test/worker/processes/**', 'test/worker/pgbouncer.test.ts', 'failure-modes/*/recover.test.ts']
const timeouts = { testTimeout: 60_000, hookTimeout: 120_000 }

export default defineConfig({
  test: {
    pool: 'forks',
    // More than the two cores of a small machine: much of the time is waiting for a server, a process or a signal.
    maxWorkers: 3,
    projects: [
      { test: { name: 'rules', include: ['test/{rules,docs,package}/**/*.test.ts'], ...timeouts } },
      { test: { name: 'embedded', include: ['test/embedded/**/*.test.ts'], ...timeouts } },
      {
        test: {
          name: 'pg18',
          include: [...onDatabase, 'test/cli/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...(systemPrograms() ? once : [])],
          globalSetup: 'test/harness/pg18.global.ts',
          ...timeouts,
        },
      },
      systemPrograms()
        ? { test: { name: 'pg15', include: onDatabase, globalSetup: 'test/harness/pg15.global.ts', ...timeouts } }
        : { test: { name: 'pg15', include: ['test/harness/system-postgres.skipped.test.ts'] } },
    ],
  },
})
