import { grouped } from './grouped.js'
import { leaseMs } from '../faults.js'
import { hasEffect } from '../work.js'
import type { EndedJob, Rule } from './checker.js'
import type { Attempt, Disturbance, History, JobStory } from './history.js'

/** A lease that ran out did so a while after what cost it: it lasts that long, and somebody has to look. */
const aftermathMs = 2 * leaseMs + 8_000
/** Two clocks of one machine, each read to the millisecond. */
const clockSlackMs = 5

export const jobRules: Readonly<Record<string, Rule>> = {
  *'a job that was acknowledged, or is there, is lost'({ jobs }, final) {
    for (const [n, { ackedAtMs, spec }] of jobs) {
      const ended = final.jobs.get(n)
      if (!ended) {
        if (ackedAtMs !== undefined) yield `${spec.kind} ${n} was acknowledged, and is not there`
      } else if (ended.outcome === null) yield `${spec.kind} ${n} has not ended`
    }
  },

  *'a job was made that nobody asked for'({ jobs }, final) {
    for (const n of final.jobs.keys()) if (!jobs.has(n)) yield `job ${n}`
  },

  *'an outcome is not what its handler came to'({ jobs, cancels }, final) {
    for (const [n, { spec }] of jobs) {
      const outcome = final.jobs.get(n)?.outcome
      if (!outcome) continue
      const may = spec.kind === 'doomed' ? ['failed'] : cancels.has(n) ? ['succeeded', 'cancelled'] : ['succeeded']
      if (!may.includes(outcome)) yield `${spec.kind} ${n} ended as ${outcome}`
    }
  },

  *'committed effects are not one'({ jobs }, final) {
    for (const [n, { spec }] of jobs) {
      const expected = hasEffect(spec) && final.jobs.get(n)?.outcome === 'succeeded' ? 1 : 0
      const found = final.effects.get(n) ?? 0
      if (found !== expected) yield `${spec.kind} ${n} has ${found} instead of ${expected}`
    }
  },

  *'a job succeeded, and none of its handlers did'({ jobs }, final) {
    for (const [n, { spec, attempts }] of jobs) {
      // One that commits its outcome itself may be killed before it tells its end.
      if (hasEffect(spec) || final.jobs.get(n)?.outcome !== 'succeeded') continue
      if (!attempts.some(({ threw }) => threw === false)) yield `${spec.kind} ${n}`
    }
  },

  *'failures are miscounted'({ jobs }, final) {
    for (const [n, story] of jobs) {
      const ended = final.jobs.get(n)
      if (!ended?.outcome) continue
      const { spec, attempts } = story
      const thrown = new Set(attempts.filter(isThrown).map(({ attempt }) => attempt)).size
      const settled = new Set(attempts.filter((each) => each.settled === 'failed').map(({ attempt }) => attempt)).size
      const least = ended.outcome === 'succeeded' ? Math.max(settled, spec.failures) : settled
      if (ended.failures < least || ended.failures > thrown) {
        yield `${spec.kind} ${n} has ${ended.failures}; its handlers threw ${thrown} times, and ${least} at least were recorded`
      }
    }
  },

  *'losses and releases are miscounted'({ jobs }, final) {
    for (const [n, { spec, attempts }] of jobs) {
      const ended = final.jobs.get(n)
      if (!ended?.outcome) continue
      const { outcome, tries, failures, losses, releases } = ended
      const known = failures + losses + releases
      // The lease that ended it is none of the three, if it succeeded; a cancel may have met one that ran, or none.
      const may = outcome === 'succeeded' ? [known + 1] : outcome === 'failed' ? [known] : [known, known + 1]
      if (!may.includes(tries)) yield `${spec.kind} ${n}: ${tries} tries, ${counted(ended)}`
      const cutShort = unended(attempts).filter(({ attempt }) => attempt < tries).length
      if (losses + releases < cutShort) {
        yield `${spec.kind} ${n}: ${cutShort} handlers were cut short, ${counted(ended)}`
      }
    }
  },

  *'a handler ran without a lease'({ jobs }, final) {
    for (const [n, { spec, attempts }] of jobs) {
      const tries = final.jobs.get(n)?.tries ?? 0
      for (const { attempt } of attempts) if (attempt > tries) yield `${spec.kind} ${n}: try ${attempt} of ${tries}`
      const seen = attempts.map(({ attempt }) => attempt)
      if (new Set(seen).size < seen.length) yield `${spec.kind} ${n}: one lease, two handlers: ${seen.join(', ')}`
    }
  },

  *'a lease was lost for no reason'(history, { lost }) {
    const byPid = grouped(history.disturbances, ({ pid }) => pid)
    for (const { n, pid, claimedAtMs, endedAtMs } of lost) {
      const from = claimedAtMs - history.wallOffsetMs - aftermathMs
      const until = endedAtMs - history.wallOffsetMs
      const reasons = [...(byPid.get(pid) ?? []), ...(byPid.get(undefined) ?? [])]
      if (!reasons.some((each) => each.fromMs <= until && each.untilMs + aftermathMs >= from)) {
        yield `job ${n} at process ${pid}`
      }
    }
  },

  *'a delayed job ran early'({ jobs }) {
    for (const [n, { spec, triedAtMs, attempts }] of jobs) {
      const first = attempts[0]
      if (spec.delayMs === 0 || !first || triedAtMs === undefined) continue
      const earlyMs = triedAtMs + spec.delayMs - first.startedAtMs
      if (earlyMs > clockSlackMs) yield `${spec.kind} ${n}: ${Math.round(earlyMs)} ms`
    }
  },

  *'a cancel is not what was answered'({ jobs, cancels }, final) {
    for (const [n, { answer, outcome }] of cancels) {
      const found = final.jobs.get(n)?.outcome ?? null
      if (answer === 'cancelled' && found !== 'cancelled') yield `${n} was told as cancelled, and is ${found}`
      if (answer === 'requested' && found !== 'cancelled' && found !== 'succeeded') {
        yield `the cancel of ${n} was requested, and it is ${found}`
      }
      if (answer === 'finished' && found !== outcome) yield `${n} was told as ${outcome}, and is ${found}`
    }
    for (const [n, { outcome }] of final.jobs) {
      if (outcome === 'cancelled' && jobs.has(n) && !cancels.has(n)) yield `${n} is cancelled, and nobody asked for it`
    }
  },
}

function counted({ outcome, failures, losses, releases }: EndedJob): string {
  return `${failures} failures, ${losses} losses, ${releases} releases, ${outcome}`
}

/** It threw by itself, or took too long: what it throws because it was told to stop is no failure. */
function isThrown({ threw, aborted }: Attempt): boolean {
  return aborted === 'timeout' || (threw === true && aborted === undefined)
}

function unended(attempts: readonly Attempt[]): Attempt[] {
  return attempts.filter(({ endedAtMs }) => endedAtMs === undefined)
}

/**
 * When a handler certainly still had its lease: until it left, ended or was told to stop, if its own worker has recorded that; otherwise only
 * until something befell that worker, or another attempt began.
 */
export function heldUntilMs(attempt: Attempt, { attempts }: JobStory, disturbancesOf: DisturbancesOf): number {
  const { leftAtMs, endedAtMs, abortedAtMs, startedAtMs, settled, pid } = attempt
  const never = Number.POSITIVE_INFINITY
  const told = Math.min(leftAtMs ?? endedAtMs ?? never, abortedAtMs ?? never)
  if (settled) return told
  const next = attempts.find((each) => each.attempt > attempt.attempt)?.startedAtMs ?? Number.POSITIVE_INFINITY
  const befell = disturbancesOf(pid).find((each) => each.untilMs >= startedAtMs)
  return Math.min(told, next, Math.max(startedAtMs, befell?.fromMs ?? Number.POSITIVE_INFINITY))
}

export type DisturbancesOf = (pid: number) => readonly Disturbance[]

/** In the order of their beginning; those of all processes among them. */
export function disturbancesByProcess({ disturbances }: History): DisturbancesOf {
  const sorted = [...disturbances].sort((a, b) => a.fromMs - b.fromMs)
  const known = new Map<number, readonly Disturbance[]>()
  return (pid) => {
    const found = known.get(pid) ?? sorted.filter((each) => each.pid === pid || each.pid === undefined)
    known.set(pid, found)
    return found
  }
}
