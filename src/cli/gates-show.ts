import { Command } from 'commander'
import { unknownGate } from '../client/unknown-gate.js'
import { type GateDetail, type GateHolder, type GateWaiter, readGate } from '../store/gates.js'
import { checkedGateKey } from '../task/gate-key.js'
import { paintFor, placeColours } from './colours.js'
import { holderText, limitNotes } from './gate-texts.js'
import type { GlobalOptions } from './global-options.js'
import { spanText } from './moments.js'
import { printable } from './printable.js'
import { withDatabase } from './server-session.js'
import { type Column, printTable } from './table.js'

export function gatesShowCommand(): Command {
  return new Command('show')
    .description('who holds a gate and since when, and who waits at it')
    .argument('<key>', 'gate:…, fifo:… (strict order) or group:…')
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const key = checkedGateKey(given, 'the key')
      const gate = await withDatabase(options, async (db) => {
        const found = await readGate(db, key)
        if (!found) throw await unknownGate(db, key)
        return found
      })
      if (options.json) console.log(JSON.stringify(gate))
      else show(gate)
    })
}

function show(gate: GateDetail): void {
  const paint = paintFor(process.stdout)
  for (const [name, value] of properties(gate)) console.log(`${paint('dim', name.padEnd(9))} ${printable(value)}`)
  if (gate.holders.length > 0) {
    console.log('')
    printTable(holderColumns, gate.holders)
    const more = gate.held - gate.holders.filter(({ overrun }) => !overrun).length
    if (more > 0) console.log(`And ${more} more.`)
  }
  if (gate.waiters.length > 0) {
    console.log('')
    printTable(waiterColumns, gate.waiters)
    const more = gate.waiting - gate.waiters.length
    if (more > 0) console.log(`And ${more} more.`)
  }
  const head = blockedHead(gate)
  if (head) {
    console.log(`\nThe order is strict, and ${head.jobId} ${printable(holderText(head))}: the others wait for it.`)
    console.log(`Let them pass: fencepost jobs skip ${head.jobId}`)
    console.log(`End it: fencepost jobs cancel ${head.jobId}`)
  }
}

function properties(gate: GateDetail): [name: string, value: string][] {
  const { key, limit, held, waiting, oldestWaitingMs, pausedMs } = gate
  const notes = limitNotes(gate)
  const lines: [string, string][] = [
    ['gate', key],
    ['limit', `${limit ?? 'none declared yet'}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`],
    ['held', `${held}`],
    ['waiting', `${waiting}${oldestWaitingMs === null ? '' : `, the oldest for ${spanText(oldestWaitingMs)}`}`],
  ]
  if (pausedMs !== null) lines.push(['paused', `${spanText(pausedMs)} ago; to end it: fencepost resume ${key}`])
  return lines
}

/** A job that keeps a strict gate although it does not run, and others that wait for it. */
function blockedHead({ key, holders, waiting }: GateDetail): GateHolder | undefined {
  if (!key.startsWith('fifo:') || waiting === 0) return undefined
  return holders.find(({ place }) => place === 'delayed' || place === 'parked')
}

const holderColumns: readonly Column<GateHolder>[] = [
  { title: 'HELD BY', text: ({ jobId }) => jobId },
  { title: 'TASK', text: ({ task }) => task },
  { title: 'QUEUE', text: ({ queue }) => queue },
  { title: 'PLACE', text: ({ place }) => place, colour: ({ place }) => placeColours[place] },
  { title: 'WHICH', text: holderText },
]

const waiterColumns: readonly Column<GateWaiter>[] = [
  { title: 'NEXT', text: ({ jobId }) => jobId },
  { title: 'TASK', text: ({ task }) => task },
  { title: 'QUEUE', text: ({ queue }) => queue },
  { title: 'PRIORITY', text: ({ priority }) => priority, align: 'right' },
  { title: 'WAITS FOR', text: ({ sinceMs }) => spanText(sinceMs), align: 'right' },
]
