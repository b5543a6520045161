import type { Ahead, WhyNotRunning, Workers } from '../store/why-not-running.js'
import { counted } from './counted.js'
import { dueText, holderText } from './gate-texts.js'
import { spanText } from './moments.js'
import { printable } from './printable.js'

/** Why the job does not run, in a line; nothing for one that runs or has ended. */
export function whyText(why: WhyNotRunning): string | undefined {
  return why.because === 'running' || why.because === 'finished' ? undefined : printable(plainText(why))
}

function plainText(why: Exclude<WhyNotRunning, { because: 'running' | 'finished' }>): string {
  switch (why.because) {
    case 'delayed':
      if (why.dueInMs <= 0) return `it is due, and a worker has to see that${missingWorker(why.workers)}`
      return `it is delayed${dueText(why.dueInMs)}${why.failures > 0 ? ` after ${counted(why.failures, 'failure')}` : ''}`
    case 'parked':
      return `it is parked until the signal ${why.signal} comes${why.dueInMs === null ? '' : `,${dueText(why.dueInMs)} at most`}`
    case 'paused':
      return `${why.kind} ${why.name} was paused ${spanText(why.pausedMs)} ago: fencepost resume ${why.kind}:${why.name}`
    case 'gate':
      return atGate(why)
    case 'no_worker':
      return why.workers.any
        ? `no live worker serves task ${why.task} in queue ${why.queue}: fencepost workers`
        : 'no live worker is there: fencepost worker'
    default:
      return `it is ready, with ${aheadText(why.ahead)} ahead of it in queue ${why.queue}`
  }
}

function atGate({
  key,
  sinceMs,
  ahead,
  limit,
  held,
  pausedMs,
  holders,
  workers,
}: WhyNotRunning & { because: 'gate' }): string {
  const waits = `it waits at ${key} for ${spanText(sinceMs)}, with ${aheadText(ahead)} ahead of it`
  if (pausedMs !== null) return `${waits}; the gate was paused ${spanText(pausedMs)} ago: fencepost resume ${key}`
  if (limit === null || held < limit)
    return `${waits}; there is room, and a worker has to see that${missingWorker(workers)}`
  const more = held - holders.filter(({ overrun }) => !overrun).length
  const each = holders.map((holder) => `${holder.jobId} ${holderText(holder)}`)
  const others = more > 0 ? [`${more} more: fencepost gates show ${key}`] : []
  return `${waits}; ${held} of ${limit} held: ${[...each, ...others].join('; ')}`
}

function aheadText({ count, orMore }: Ahead): string {
  if (count === 0) return 'nobody'
  return orMore ? `more than ${count} others` : counted(count, 'other')
}

function missingWorker({ any }: Workers): string {
  return any ? '' : ', but no live worker is there: fencepost worker'
}
