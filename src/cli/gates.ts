import { Command } from 'commander'
import { gatesLimitCommand } from './gates-limit.js'
import { gatesListCommand } from './gates-list.js'
import { gatesShowCommand } from './gates-show.js'

export function gatesCommand(): Command {
  return new Command('gates')
    .description('list gates, show who holds one and who waits, change a limit')
    .addCommand(gatesListCommand(), { isDefault: true })
    .addCommand(gatesShowCommand())
    .addCommand(gatesLimitCommand())
}
