import { configDefaults, defineConfig } from 'vitest/config'
import { guardRemoval } from './test/harness/guard-removal.js'
import { systemPrograms } from './test/harness/test-server.js'

const onDatabase = [
  'test/{store,client,worker,lab,audit,observe,sqs/server,fuzz/database}/**/*.test.ts',
  'failure-modes/**/*.test.ts',
]
/**
 * About processes, signals, a pooler, types or what is refused before it reaches the server, not about a version of
 * PostgreSQL: once is enough. So it is for what breaks without its guard, and for its undisturbed course; what the guard
 * prevents is played on both.
 */
const once = [
  'test/worker/processes/**',
  'test/worker/pgbouncer.test.ts',
  'test/lab/**',
  'test/observe/**',
  'test/sqs/server/**',
  'test/fuzz/database/**',
  'test/client/{bad-input,guides,typing}.test.ts',
  'failure-modes/*/{happy-path,repro,recover}.test.ts',
]
const timeouts = { testTimeout: 60_000, hookTimeout: 120_000 }
/** A process for many files instead of one for each: to start it and load everything takes 0.7 s of a core. */
const isolate = false
const plugins = [guardRemoval()]

export default defineConfig({
  test: {
    pool: 'forks',
    // More than the two cores of a small machine: much of the time is waiting for a server, a process or a signal.
    maxWorkers: 3,
    projects: [
      {
        plugins,
        test: {
          name: 'rules',
          include: ['test/{rules,docs,package,workflow,sqs/rules,sqs/wire,fuzz/pure,torture}/**/*.test.ts'],
          isolate,
          ...timeouts,
        },
      },
      { test: { name: 'embedded', include: ['test/embedded/**/*.test.ts'], ...timeouts } },
      {
        plugins,
        test: {
          name: 'pg18',
          include: [...onDatabase, 'test/cli/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...(systemPrograms() ? once : [])],
          globalSetup: 'test/harness/pg18.global.ts',
          isolate,
          ...timeouts,
        },
      },
      systemPrograms()
        ? {
            test: {
              name: 'pg15',
              include: onDatabase,
              globalSetup: 'test/harness/pg15.global.ts',
              isolate,
              ...timeouts,
            },
          }
        : { test: { name: 'pg15', include: ['test/harness/system-postgres.skipped.test.ts'] } },
    ],
  },
})
