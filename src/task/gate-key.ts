import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'
import { checkedName, checkOptionNames } from './options.js'

const kinds = ['gate', 'fifo', 'group'] as const
const kindLengthMax = 'group:'.length

/** What can be paused. A gate is named by its whole key, such as `gate:api`. */
export type PauseTarget = { readonly queue: string } | { readonly task: string } | { readonly gate: string }

/** The key of a gate as it is stored and shown: its kind, a colon, and what the task said. */
export function checkedGateKey(value: unknown, what: string): string {
  const key = checkedName(value, what, limits.gateKeyLengthMax + kindLengthMax)
  const kind = kinds.find((each) => key.startsWith(`${each}:`))
  if (kind === undefined) {
    throw new FencepostError(
      'FP_OPTION_INVALID',
      `${what} must begin with gate:, fifo: or group:, not be ${shown(key)}`,
      {
        hint: `Did you mean ${shown(`gate:${key}`)}? A strict gate is fifo:…, a group is group:….`,
      },
    )
  }
  checkedName(key.slice(kind.length + 1), `what follows ${kind}: in ${what}`, limits.gateKeyLengthMax)
  return key
}

/** The key of a gate whose limit can be set: a strict one would no longer be strict. */
export function checkedLimitKey(value: unknown, what: string): string {
  const key = checkedGateKey(value, what)
  if (!key.startsWith('fifo:')) return key
  throw new FencepostError(
    'FP_OPTION_INVALID',
    `${shown(key)} is strict: it lets one job through at a time, in order`,
    {
      hint: 'Its limit cannot be set. It can be paused, and a job that blocks it can be skipped or cancelled.',
    },
  )
}

/** `queue:<name>`, `task:<name>` or the key of the gate. */
export function pausedThing(target: PauseTarget): string {
  checkOptionNames(target, ['queue', 'task', 'gate'], 'what is paused')
  const [named, ...more] = Object.entries(target) as ['queue' | 'task' | 'gate', unknown][]
  if (!named || more.length > 0) {
    throw new FencepostError('FP_OPTION_INVALID', 'name one thing: { queue }, { task } or { gate }')
  }
  const [kind, name] = named
  return kind === 'gate' ? checkedGateKey(name, 'gate') : `${kind}:${checkedName(name, kind)}`
}
