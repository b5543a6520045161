import { Command } from 'commander'
import { type GateView, gatesListedMax, listGates, listPauses } from '../store/gates.js'
import { limitNotes } from './gate-texts.js'
import type { GlobalOptions } from './global-options.js'
import { misspeltCommand } from './misspelt-command.js'
import { spanText } from './moments.js'
import { pausesText } from './pause.js'
import { withDatabase } from './server-session.js'
import { type Column, printTable } from './table.js'

export function gatesListCommand(): Command {
  return new Command('list')
    .description('the gates in use, the longest lines first; `fencepost gates` is short for this')
    .allowExcessArguments(true)
    .action(async (_options: unknown, command: Command) => {
      if (command.args.length > 0) throw misspeltCommand(command.args[0] as string, command.parent as Command)
      const options = command.optsWithGlobals<GlobalOptions>()
      const [gates, pauses] = await withDatabase(options, async (db) => [await listGates(db), await listPauses(db)])
      if (options.json) return console.log(JSON.stringify(gates))
      if (gates.length === 0) console.log('No gate is in use.')
      else printTable(columns, gates)
      if (gates.length === gatesListedMax) console.log(`The ${gatesListedMax} with the longest lines; there are more.`)
      if (pauses.length > 0) console.log(`\n${pausesText(pauses)}`)
    })
}

const columns: readonly Column<GateView>[] = [
  { title: 'KEY', text: ({ key }) => key },
  { title: 'LIMIT', text: ({ limit }) => limit ?? '-', align: 'right' },
  {
    title: 'HELD',
    text: ({ held }) => held,
    colour: ({ held, limit }) => (limit !== null && held > limit ? 'yellow' : undefined),
    align: 'right',
  },
  { title: 'WAITING', text: ({ waiting }) => waiting, align: 'right' },
  {
    title: 'OLDEST',
    text: ({ oldestWaitingMs }) => (oldestWaitingMs === null ? '-' : spanText(oldestWaitingMs)),
    align: 'right',
  },
  {
    title: 'PAUSED',
    text: ({ pausedMs }) => (pausedMs === null ? '-' : `${spanText(pausedMs)} ago`),
    colour: ({ pausedMs }) => (pausedMs === null ? undefined : 'yellow'),
    align: 'right',
  },
  { title: 'NOTE', text: (gate) => limitNotes(gate).join('; ') },
]
