import { Command } from 'commander'
import { nearestGate, unknownGate } from '../client/unknown-gate.js'
import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'
import type { Database } from '../store/database.js'
import { type GateView, readGate, setLimit } from '../store/gates.js'
import { checkedLimitKey } from '../task/gate-key.js'
import { checkedInteger } from '../task/options.js'
import type { GlobalOptions } from './global-options.js'
import { wholeNumber } from './option-values.js'
import { printable } from './printable.js'
import { withDatabase } from './server-session.js'

interface GatesLimitOptions extends GlobalOptions {
  readonly reset?: boolean
}

export function gatesLimitCommand(): Command {
  return new Command('limit')
    .description('set the limit of a gate, over what the tasks declare, or take that back')
    .argument('<key>', 'gate:… or group:…')
    .argument('[limit]', 'how many run at a time', wholeNumber)
    .option('--reset', 'let what the tasks declare hold again')
    .action(async (given: string, limit: number | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GatesLimitOptions>()
      if ((limit === undefined) === !options.reset) {
        throw new FencepostError('FP_USAGE', 'gates limit takes a number or --reset, and not both')
      }
      const key = checkedLimitKey(given, 'the key')
      const wanted = limit === undefined ? null : checkedInteger(limit, 'the limit', 1, limits.gateLimitMax)
      const changed = await withDatabase(options, (db) => change(db, key, wanted))
      if (options.json) {
        console.log(JSON.stringify({ key, limit: changed.now?.limit ?? null, before: changed.before }))
      } else tell(key, wanted, changed)
    })
}

interface Changed {
  readonly before: number | null
  readonly now: GateView | undefined
  readonly meant: string | undefined
}

async function change(db: Database, key: string, wanted: number | null): Promise<Changed> {
  const known = await readGate(db, key)
  if (!known && wanted === null) throw await unknownGate(db, key)
  const meant = known ? undefined : await nearestGate(db, key)
  const before = await setLimit(db, key, wanted)
  return { before, now: await readGate(db, key), meant }
}

function tell(key: string, wanted: number | null, { before, now, meant }: Changed): void {
  const was = before === null ? '' : `, was ${before}`
  console.log(printable(`${key}: limit ${now?.limit ?? 'as its next job declares'}${was}`))
  if (now && now.limit !== null && now.held > now.limit) {
    console.log(`${now.held} hold it: they go on, and nobody is let in until it is below.`)
  }
  if (wanted !== null && before === null) {
    console.log('No job has used this gate yet: the limit holds from its first one, until --reset.')
    if (meant !== undefined) console.log(printable(`Did you mean ${meant}? Then: fencepost gates limit ${key} --reset`))
  }
}
