import { grouped } from './grouped.js'
import { gateLimits, queueOf } from '../work.js'
import type { Rule } from './checker.js'
import type { History, JobStory } from './history.js'
import { disturbancesByProcess, heldUntilMs } from './job-rules.js'

interface Change {
  readonly atMs: number
  readonly story: JobStory
  /** Of the attempt that holds. */
  readonly startedAtMs: number
  readonly holds: 1 | -1
}

export const gateRules: Readonly<Record<string, Rule>> = {
  *'a gate let in too many'(history) {
    const disturbancesOf = disturbancesByProcess(history)
    const changes = new Map<string, Change[]>()
    for (const story of history.jobs.values()) {
      for (const key of story.spec.gates) {
        const at = changes.get(key) ?? []
        changes.set(key, at)
        for (const attempt of story.attempts) {
          const untilMs = heldUntilMs(attempt, story, disturbancesOf)
          const { startedAtMs } = attempt
          if (untilMs <= startedAtMs) continue
          at.push({ atMs: startedAtMs, story, startedAtMs, holds: 1 }, { atMs: untilMs, story, startedAtMs, holds: -1 })
        }
      }
    }
    for (const [key, at] of changes) {
      const holders = new Map<JobStory, number>()
      const lastStartMs = new Map<JobStory, number>()
      for (const { story, startedAtMs, holds } of at.sort((a, b) => a.atMs - b.atMs || a.holds - b.holds)) {
        const left = (holders.get(story) ?? 0) + holds
        if (left === 0) holders.delete(story)
        else holders.set(story, left)
        lastStartMs.set(story, startedAtMs)
        if (holds < 0 || left > 1) continue
        const mayBe = (each: JobStory) => highestLimit(history, key, each.triedAtMs ?? 0, lastStartMs.get(each) ?? 0)
        const limit = Math.max(...[...holders.keys()].map(mayBe))
        if (holders.size > limit) {
          yield `${key} had ${holders.size} of ${limit}: ${[...holders.keys()].map(({ spec }) => spec.n).join(', ')}`
        }
      }
    }
  },

  *'a strict order was broken'({ jobs }, final) {
    const byKey = grouped(
      [...jobs.values()].filter(({ spec }) => spec.kind === 'strict'),
      ({ spec }) => spec.gates[0] as string,
    )
    for (const [key, stories] of byKey) {
      // One producer asks for all of a key, in the order of their numbers.
      stories.sort((a, b) => a.spec.n - b.spec.n)
      let before: { n: number; ackedAtMs: number; leftAtMs: number } | undefined
      for (const { spec, triedAtMs = 0, ackedAtMs, attempts } of stories) {
        const first = attempts[0]
        if (before && first && before.ackedAtMs < triedAtMs && first.startedAtMs < before.leftAtMs) {
          yield `${key}: ${spec.n} began before ${before.n} had ended`
        }
        const last = attempts.find(({ attempt }) => attempt === final.jobs.get(spec.n)?.tries)
        if (ackedAtMs === undefined || last?.leftAtMs === undefined) continue
        if (!before || last.leftAtMs > before.leftAtMs) before = { n: spec.n, ackedAtMs, leftAtMs: last.leftAtMs }
      }
    }
  },

  *'something was started while it was paused'({ jobs, pauses }) {
    for (const { what, fromMs, untilMs } of pauses) {
      const { queue, gate } = JSON.parse(what) as { queue?: string; gate?: string }
      for (const { spec, triedAtMs = 0, attempts } of jobs.values()) {
        // What was asked for before may have been let through before.
        if (triedAtMs < fromMs || triedAtMs > untilMs) continue
        if (gate ? !spec.gates.includes(gate) : queueOf(spec.kind) !== queue) continue
        const first = attempts[0]
        if (first && first.startedAtMs < untilMs) yield `${what}: ${spec.kind} ${spec.n}`
      }
    }
  },
}

/** The highest limit that may have been in force when a job was let in: some time between its enqueue and its start. */
function highestLimit({ limits }: History, key: string, fromMs: number, untilMs: number): number {
  const at = limits.filter((each) => each.key === key)
  const possible = at.filter(({ askedAtMs }, n) => askedAtMs <= untilMs && (at[n + 1]?.doneAtMs ?? untilMs) >= fromMs)
  const declared = (at[0]?.doneAtMs ?? untilMs) >= fromMs ? [gateLimits[key] ?? 1] : []
  return Math.max(...declared, ...possible.map(({ limit }) => limit))
}
