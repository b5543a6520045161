import type { GateHolder, GateView } from '../store/gates.js'
import { counted } from './counted.js'
import { spanText } from './moments.js'

/** Where the limit comes from, if there is more to say than a number. */
export function limitNotes({
  setLimit,
  declaredLimit,
  declaredBy,
  disputedBy,
  perProcess,
  held,
  limit,
}: GateView): string[] {
  const notes: string[] = []
  const declared = declaredBy === null ? '' : `, task ${declaredBy} declares ${declaredLimit ?? 'none'}`
  if (setLimit !== null) notes.push(`set by hand${declared}`)
  if (disputedBy !== null) {
    const holds = setLimit === null ? ': the lower one holds' : ''
    notes.push(`tasks ${declaredBy} and ${disputedBy} declare different limits${holds}`)
  }
  if (perProcess !== null) notes.push(`${perProcess} per process`)
  if (limit !== null && held > limit) notes.push('above its limit: nobody is let in until it is below')
  return notes
}

/** What a holder of a slot does with it. */
export function holderText({ place, worker, failures, sinceMs, dueInMs, signal, overrun }: GateHolder): string {
  const since = sinceMs === null ? '' : ` for ${spanText(sinceMs)}`
  switch (place) {
    case 'leased':
      return `runs${since} on ${worker}${overrun ? ', too long: no longer counted' : ''}`
    case 'waiting':
      return `waits at its next gate${since}`
    case 'delayed':
      return `is delayed${dueText(dueInMs)}${failures > 0 ? ` after ${counted(failures, 'failure')}` : ''}`
    case 'parked':
      return `is parked for the signal ${signal}${dueText(dueInMs)}`
    default:
      return 'is ready'
  }
}

export function dueText(dueInMs: number | null): string {
  if (dueInMs === null) return ''
  return dueInMs > 0 ? ` for another ${spanText(dueInMs)}` : ', and due'
}
