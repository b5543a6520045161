import { ways } from '../stored-by.js'
import type { Rule } from './checker.js'
import { grouped } from './grouped.js'

/** Of jobs whose ids the engine makes: their numbers, in their payloads, tell which is which. */
export const freshRules: Readonly<Record<string, Rule>> = {
  *'a job under a fresh id is there twice'({ jobs }, { fresh }) {
    for (const [n, all] of grouped(fresh, (each) => each.n)) {
      if (all.length > 1) yield `${jobs.get(n)?.spec.kind} ${n}: jobs ${all.map(({ id }) => id).join(', ')}`
    }
  },

  *'a fresh id is not the one that was answered'({ jobs }, { fresh }) {
    const ids = grouped(fresh, ({ n }) => n)
    for (const [n, { spec, fresh: told }] of jobs) {
      const found = ids.get(n)
      if (told?.id && found && !found.some(({ id }) => id === told.id)) {
        yield `${spec.kind} ${n} was acknowledged as ${told.id}, and is ${found.map(({ id }) => id).join(', ')}`
      }
    }
  },

  *'an enqueue was refused, and its job is there'({ jobs }, { fresh }) {
    for (const { n, id } of fresh) {
      const refusal = jobs.get(n)?.fresh?.refusal
      if (refusal && refusal !== 'FP_COMMIT_UNKNOWN') yield `${jobs.get(n)?.spec.kind} ${n}, ${refusal}: job ${id}`
    }
  },

  *'an enqueue is there in part'({ jobs }, { fresh }) {
    const found = new Set(fresh.map(({ n }) => n))
    const calls = grouped(
      [...jobs.values()].filter((story) => story.fresh),
      (story) => story.fresh?.call,
    )
    for (const [call, stories] of calls) {
      const there = stories.filter(({ spec }) => found.has(spec.n)).length
      if (there > 0 && there < stories.length) {
        yield `${stories[0]?.spec.kind} ${call}: ${there} of ${stories.length}`
      }
    }
  },

  *'a way to store jobs was never taken'(_, { storedBy }) {
    for (const way of ways) if (storedBy[way] === 0) yield way
  },
}
