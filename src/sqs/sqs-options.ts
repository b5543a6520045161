import { FencepostError, shown } from '../errors.js'
import { defaults, limits } from '../limits.js'
import type { Ledger } from '../store/sqs.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkOptionNames } from '../task/options.js'
import { defaultAccount, defaultRegion } from './rules/queue-name.js'
import { type AccessKeys, checkedAccessKeys } from './rules/rights.js'

/** How a process speaks SQS. */
export interface SqsOptions {
  /** 0 for any free one. */
  readonly port?: number
  /** Where to listen: 127.0.0.1 unless told otherwise. */
  readonly host?: string
  /** Who may call, with what rights; by access key id. */
  readonly keys?: AccessKeys
  /** Lets in requests that nobody has signed. Only where no other machine can reach it. */
  readonly unsigned?: boolean
  /**
   * What this server does with the ledger of sends, by which a send that is retried is stored once: write it (`on`), heed
   * what others write (`read`), or neither. All servers of a fleet must read before one writes.
   */
  readonly sendDedup?: Ledger
  /** How long a send that comes again is told what became of the first: five minutes at least. */
  readonly sendLedger?: Duration
  /** In the ARNs of queues; if it is given, requests must be signed for it. */
  readonly region?: string
  /** In the ARNs and URLs of queues. */
  readonly account?: string
  /** How soon a queue may be purged again. */
  readonly purgeEvery?: Duration
  /** How far a client's clock may be off. */
  readonly clockSkew?: Duration
  /** How often to look for messages on behalf of those who wait; they are notified besides. */
  readonly poll?: Duration
  /** `false` to poll only, or the direct URL of the server: through a pooler that keeps no session, nothing is heard. */
  readonly listen?: boolean | string
}

export interface SqsSettings {
  readonly port: number
  readonly host: string
  readonly keys: AccessKeys
  readonly unsigned: boolean
  readonly sendDedup: Ledger
  readonly ledgerMs: number
  readonly region: string
  /** Requests must be signed for it; undefined: for any. */
  readonly signedRegion: string | undefined
  readonly account: string
  readonly purgeEveryMs: number
  readonly skewMs: number
  readonly pollMs: number
  readonly listen: boolean | string
}

const known = [
  'port',
  'host',
  'keys',
  'unsigned',
  'sendDedup',
  'sendLedger',
  'region',
  'account',
  'purgeEvery',
  'clockSkew',
  'poll',
  'listen',
] as const satisfies (keyof SqsOptions)[]

const ledgers: readonly string[] = ['off', 'read', 'on'] satisfies Ledger[]
const loopback = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/

export function checkedSqsOptions(options: SqsOptions, what: string): SqsSettings {
  checkOptionNames(options, known, what)
  const at = (option: keyof SqsOptions) => `${option} of ${what}`
  const port = checkedInteger(options.port ?? defaults.sqsPort, at('port'), 0, limits.portMax)
  const host = options.host ?? defaults.sqsHost
  const keys = checkedAccessKeys(options.keys ?? {}, at('keys'))
  const { unsigned = false, sendDedup = 'on', region, account = defaultAccount, listen = true } = options
  if (typeof host !== 'string' || host === '') throw invalid(at('host'), 'a host name or an address', host)
  if (typeof unsigned !== 'boolean') throw invalid(at('unsigned'), 'true or false', unsigned)
  if (!ledgers.includes(sendDedup)) throw invalid(at('sendDedup'), ledgers.join(', '), sendDedup)
  if (region !== undefined && !/^[a-z0-9-]{1,40}$/.test(region)) throw invalid(at('region'), 'as us-east-1', region)
  if (!/^\d{12}$/.test(account)) throw invalid(at('account'), 'twelve digits', account)
  if (typeof listen !== 'boolean' && !/^postgres(ql)?:\/\//.test(listen)) {
    throw invalid(at('listen'), 'true, false or a postgres:// URL', listen)
  }
  if (unsigned && !loopback.test(host)) throw new FencepostError('FP_SQS_UNSIGNED', `host is ${shown(host)}`)
  if (!unsigned && Object.keys(keys).length === 0) throw new FencepostError('FP_SQS_NO_KEYS')
  const ms = (option: 'sendLedger' | 'purgeEvery' | 'clockSkew' | 'poll', otherwise: number, min: number) =>
    durationMs(options[option] ?? otherwise, at(option), min, limits.timerMsMax)
  return {
    port,
    host,
    keys,
    unsigned,
    sendDedup,
    ledgerMs: ms('sendLedger', defaults.sqsLedgerMs, limits.sqsLedgerMsMin),
    region: region ?? defaultRegion,
    signedRegion: region,
    account,
    purgeEveryMs: ms('purgeEvery', defaults.sqsPurgeEveryMs, 0),
    skewMs: ms('clockSkew', defaults.sqsClockSkewMs, 1_000),
    pollMs: ms('poll', defaults.pollMs, limits.pollMsMin),
    listen,
  }
}

/** `id:secret,id:secret`, as an environment has them: with all rights. */
export function accessKeysFrom(text: string, what: string): AccessKeys {
  const pairs = text.split(',').filter((each) => each.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair, n) => {
      const colon = pair.indexOf(':')
      if (colon < 1) {
        // The text itself is a secret.
        throw new FencepostError('FP_OPTION_INVALID', `key ${n + 1} of ${what} must be written as id:secret`)
      }
      return [pair.slice(0, colon).trim(), { secret: pair.slice(colon + 1).trim() }]
    }),
  )
}

function invalid(option: string, allowed: string, given: unknown): FencepostError {
  return new FencepostError('FP_OPTION_INVALID', `${option} must be ${allowed}, not ${shown(given)}`)
}
