// What each peer is given in each scenario beyond the adapters' defaults, and what it has no way to express.
const hours = 3_600_000

const noFanIn = 'it has no jobs that wait for other jobs'
const noTransaction = 'a job cannot be completed in a transaction of the application’s'

export const peers = {
  fencepost: {
    cannot: {
      FM_006: 'no call deletes a job, and an id that ended is not used again',
      FM_042: 'nothing that has not run is ever deleted, and no setting does it',
    },
    policies: {},
  },
  'pg-boss': {
    cannot: {},
    policies: {
      FM_014: { heartbeat: true },
      FM_030: { notify: true },
      FM_034: { deadLetter: true },
      FM_042: { retentionSeconds: 1 },
      FM_053: { heartbeat: true },
    },
    /** Beside the documented best: what the usual setting does. */
    also: {
      FM_001: { label: 'without transactional: true', policy: { transactional: false } },
      FM_027: { label: 'without transactional: true', policy: { transactional: false } },
    },
  },
  'graphile-worker': {
    cannot: {
      FM_005: noTransaction,
      FM_006: 'ids of jobs are numbers that the database gives once',
      FM_007: noFanIn,
      FM_008: noFanIn,
    },
    // The lock of a job lasts for four hours; each later worker comes five hours after the one before.
    laterMs: 5 * hours,
    policies: { all: { nodeTime: true }, FM_033: { nodeTime: false }, FM_024: { jobKeyMode: 'unsafe_dedupe' } },
    also: {
      FM_024: { label: 'with the default jobKeyMode, replace', policy: { jobKeyMode: 'replace' } },
    },
  },
  bullmq: {
    cannot: {
      FM_005: `${noTransaction}: the queue is in Redis`,
      FM_042: 'nothing that has not run is deleted by its age, and no setting does it',
    },
    policies: {},
    also: {
      FM_023: { label: 'with removeOnComplete', policy: { removeOnComplete: true } },
    },
  },
}
