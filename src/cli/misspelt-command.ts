import type { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { nearestName } from '../task/nearest-name.js'

/** A default command gets whatever is written after its parent's name: a misspelt command, most likely. */
export function misspeltCommand(written: string, parent: Command): FencepostError {
  const names = parent.commands.map((each) => each.name())
  const nearest = nearestName(written, names)
  const there = names.map((name) => `${parent.name()} ${name}`).join(', ')
  return new FencepostError('FP_USAGE', `unknown command '${parent.name()} ${written}'`, {
    hint: nearest ? `Did you mean ${parent.name()} ${nearest}?` : `There are ${there}.`,
  })
}
