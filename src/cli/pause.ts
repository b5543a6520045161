import { Command } from 'commander'
import { nearestGate } from '../client/unknown-gate.js'
import { FencepostError, shown } from '../errors.js'
import type { Database } from '../store/database.js'
import { type PauseView, pause, readGate, resume } from '../store/gates.js'
import { listTasks } from '../store/read.js'
import { type PauseTarget, pausedThing } from '../task/gate-key.js'
import type { GlobalOptions } from './global-options.js'
import { requireKnownQueue, requireKnownTask } from './known-names.js'
import { spanText } from './moments.js'
import { printable } from './printable.js'
import { withDatabase } from './server-session.js'

const whatIsMeant = 'queue:<name>, task:<name>, or the key of a gate: gate:…, fifo:…, group:…'

export function pauseCommand(): Command {
  return new Command('pause')
    .description('start nothing more of a queue or a task, or let nobody through a gate; what runs goes on')
    .argument('<what>', whatIsMeant)
    .action(async (what: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const target = targetOf(what)
      const thing = pausedThing(target)
      const { changed, notes } = await withDatabase(options, async (db) => {
        const found = await notesOn(db, target)
        return { changed: await pause(db, thing), notes: found }
      })
      if (options.json) return console.log(JSON.stringify({ what: thing, answer: changed ? 'paused' : 'already' }))
      console.log(printable(changed ? `${thing}: paused. To end it: fencepost resume ${thing}` : `${thing}: is paused`))
      for (const note of notes) console.log(printable(note))
    })
}

export function resumeCommand(): Command {
  return new Command('resume')
    .description('end the pause of a queue, a task or a gate')
    .argument('<what>', whatIsMeant)
    .action(async (what: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const thing = pausedThing(targetOf(what))
      const changed = await withDatabase(options, (db) => resume(db, thing))
      if (options.json) return console.log(JSON.stringify({ what: thing, answer: changed ? 'resumed' : 'already' }))
      console.log(printable(`${thing}: ${changed ? 'resumed' : 'was not paused'}`))
    })
}

function targetOf(what: string): PauseTarget {
  const [, kind, name] = /^(queue|task):(.*)$/s.exec(what) ?? []
  if (kind === 'queue') return { queue: name as string }
  if (kind === 'task') return { task: name as string }
  if (/^(gate|fifo|group):/.test(what)) return { gate: what }
  throw new FencepostError('FP_USAGE', `${shown(what)} does not say what it is the name of`, {
    hint: `Write queue:${what}, task:${what} or gate:${what}.`,
  })
}

/** A misspelt name would be paused without effect: a queue or a task has to be known, a gate may be yet to come. */
async function notesOn(db: Database, target: PauseTarget): Promise<string[]> {
  if ('queue' in target) requireKnownQueue(target.queue, await listTasks(db))
  else if ('task' in target) requireKnownTask(target.task, await listTasks(db))
  else if (!(await readGate(db, target.gate))) {
    const meant = await nearestGate(db, target.gate)
    return [`No job uses this gate now.${meant === undefined ? '' : ` Did you mean ${meant}?`}`]
  }
  return []
}

/** `Paused: queue:mail (5m 3s ago), task:export (2h 5m ago). To end it: fencepost resume queue:mail` */
export function pausesText(pauses: readonly PauseView[]): string {
  const each = pauses.map(({ kind, name, pausedMs }) => `${kind}:${name} (${spanText(pausedMs)} ago)`)
  const [{ kind, name }] = pauses as [PauseView]
  return printable(`Paused: ${each.join(', ')}. To end it: fencepost resume ${kind}:${name}`)
}
