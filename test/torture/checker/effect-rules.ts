import { grouped } from './grouped.js'
import { partsOf } from '../work.js'
import type { Rule } from './checker.js'

export const stepRules: Readonly<Record<string, Rule>> = {
  *'an effect outside has several keys'({ calls }) {
    for (const [n, all] of grouped(calls, (call) => call.n)) {
      const keys = new Set(all.map(({ key }) => key))
      if (keys.size > 1) yield `charge ${n}: ${[...keys].join(', ')}`
    }
    for (const [key, all] of grouped(calls, (call) => call.key)) {
      const numbers = new Set(all.map(({ n }) => n))
      if (numbers.size > 1) yield `key ${key}: of jobs ${[...numbers].join(', ')}`
    }
  },

  *'a step was done again though its result was recorded'({ calls, stepsDone }) {
    const done = new Map<number, number>()
    for (const { n, attempt } of stepsDone) done.set(n, Math.min(attempt, done.get(n) ?? attempt))
    for (const { n, attempt } of calls) {
      const first = done.get(n)
      if (first !== undefined && attempt > first) yield `charge ${n}: done in try ${first}, called again in ${attempt}`
    }
  },

  *'a charge was never made'({ jobs, calls }, final) {
    const called = new Set(calls.map(({ n }) => n))
    for (const [n, { spec }] of jobs) {
      if (spec.kind === 'charge' && final.jobs.get(n)?.outcome === 'succeeded' && !called.has(n)) yield `charge ${n}`
    }
  },
}

export const runRules: Readonly<Record<string, Rule>> = {
  *'a run has not come to its end'({ runs }, final) {
    for (const [r, { acked }] of runs) {
      const state = final.runs.get(r)
      if (state === undefined ? acked : state !== 'succeeded') yield `run ${r} is ${state ?? 'not there'}`
    }
    for (const r of final.runs.keys()) if (!runs.has(r)) yield `run ${r} was never asked for`
  },

  *'a part of a run was not done once'({ seed, runs }, final) {
    const expected = new Set<string>()
    for (const r of runs.keys()) {
      if (!final.runs.has(r)) continue
      for (const part of partsOf(seed, r)) {
        expected.add(`${r}/${part}`)
        const found = final.partEffects.get(`${r}/${part}`) ?? 0
        if (found !== 1) yield `${part} of run ${r}: ${found} times`
      }
    }
    for (const part of final.partEffects.keys()) if (!expected.has(part)) yield `${part} is no part of a run`
  },

  *'a successor was dispatched twice'({ parts }) {
    for (const [part, ids] of parts) if (ids.size > 1) yield `${part}: jobs ${[...ids].join(', ')}`
  },
}

/** A receive asks, and what it is given may have been looked up a moment before it was asked. */
const clockSlackMs = 5

export const messageRules: Readonly<Record<string, Rule>> = {
  *'a send was not stored once'({ messages }, final) {
    const stored = grouped(final.messages, ({ m }) => m)
    for (const [m, all] of stored) {
      if (!messages.has(m)) yield `message ${m} was never sent`
      if (all.length > 1) yield `message ${m} is stored ${all.length} times: ${all.map(({ id }) => id).join(', ')}`
    }
    for (const [m, { sentId }] of messages) {
      if (sentId !== undefined && stored.get(m)?.[0]?.id !== sentId) {
        yield `message ${m} was acknowledged as ${sentId}, and stored as ${stored.get(m)?.[0]?.id ?? 'nothing'}`
      }
    }
  },

  *'a message was not received and deleted'({ messages }, final) {
    for (const { m, outcome } of final.messages) {
      const story = messages.get(m)
      if (outcome === null) yield `message ${m} is still there`
      else if (outcome !== 'succeeded') yield `message ${m} ended as ${outcome}`
      else if (story && (story.received.length === 0 || story.deletes === 0)) {
        yield `message ${m} is gone; it was received ${story.received.length} times, and its delete asked for ${story.deletes} times`
      }
    }
  },

  *'a message was received after its deletion'({ messages, wallOffsetMs }, final) {
    for (const { m, id, finishedAtMs } of final.messages) {
      for (const { id: seen, askedAtMs } of messages.get(m)?.received ?? []) {
        if (seen === id && finishedAtMs !== null && askedAtMs + wallOffsetMs > finishedAtMs + clockSlackMs) {
          yield `message ${m}: ${Math.round(askedAtMs + wallOffsetMs - finishedAtMs)} ms after`
        }
      }
    }
  },
}
