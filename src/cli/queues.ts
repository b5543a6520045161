import { Command } from 'commander'
import { listQueues, type QueueView } from '../store/read.js'
import type { GlobalOptions } from './global-options.js'
import { momentText, spanText } from './moments.js'
import { withDatabase } from './server-session.js'
import { type Column, printTable } from './table.js'

export function queuesCommand(): Command {
  return new Command('queues')
    .description('the queues, with the jobs in each place and the age of the oldest one that is ready')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const queues = await withDatabase(options, listQueues)
      if (options.json) console.log(JSON.stringify(queues))
      else if (queues.length === 0) console.log('No queue has held a job yet.')
      else printTable(columns, queues)
    })
}

const columns: readonly Column<QueueView>[] = [
  { title: 'QUEUE', text: ({ queue }) => queue },
  { title: 'DELAYED', text: ({ delayed }) => delayed, align: 'right' },
  { title: 'WAITING', text: ({ waiting }) => waiting, align: 'right' },
  { title: 'READY', text: ({ ready }) => ready, align: 'right' },
  { title: 'LEASED', text: ({ leased }) => leased, align: 'right' },
  { title: 'PARKED', text: ({ parked }) => parked, align: 'right' },
  {
    title: 'OLDEST READY',
    text: ({ oldestReadyMs }) => (oldestReadyMs === null ? '-' : spanText(oldestReadyMs)),
    align: 'right',
  },
  {
    title: 'STATE',
    text: ({ pausedAt }) => (pausedAt ? `paused since ${momentText(pausedAt)}` : ''),
    colour: () => 'yellow',
  },
]
