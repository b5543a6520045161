import { configDefaults, defineConfig } from 'vitest/config'
import { guardRemoval } from './test/harness/guard-removal.js'
import { systemPrograms } from './test/harness/test-server.js'

const onDatabase = [
  'test/{store,client,worker,lab,audit,observe,sqs/server,fuzz/database}/**/*.test.ts',
  'failure-modes/**/*.test.ts',
]
/**
 * What depends on the version of PostgreSQL is the SQL, which test/store plays on both versions, as what the guard of
 * a failure mode prevents. Everything above it runs once: clients, workers and their processes, a pooler, the lab, SQS,
 * what is refused before it reaches the server, what breaks without its guard. (The command line runs on the embedded
 * server, with all of that behind it.)
 */
const once = [
  'test/{worker,client,audit,lab,observe}/**',
  'test/sqs/server/**',
  'test/fuzz/database/**',
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
    maxWorkers: 4,
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
