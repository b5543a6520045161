import { FencepostError, shown } from '../errors.js'
import { defaults, limits } from '../limits.js'
import type { Ledger } from '../store/sqs-servers.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkedName, checkListen, checkOptionNames } from '../task/options.js'
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

const durations = [
  ['sendLedger', limits.sqsLedgerMsMin],
  ['purgeEvery', 0],
  ['clockSkew', 1_000],
  ['poll', limits.pollMsMin],
] as const

const ledgers: readonly string[] = ['off', 'read', 'on'] satisfies Ledger[]
const loopback = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/

/** What each option may be, by itself: flags and the environment may complete it. */
export function checkSqsOptions(options: SqsOptions, what: string): void {
  checkOptionNames(options, known, what)
  const at = (option: keyof SqsOptions) => `${option} of ${what}`
  const { port, host, keys, unsigned, sendDedup, region, account, listen } = options
  if (port !== undefined) checkedInteger(port, at('port'), 0, limits.portMax)
  if (host !== undefined) checkedName(host, at('host'))
  if (keys !== undefined) checkedAccessKeys(keys, at('keys'))
  if (unsigned !== undefined && typeof unsigned !== 'boolean') throw invalid(at('unsigned'), 'true or false', unsigned)
  if (sendDedup !== undefined && !ledgers.includes(sendDedup)) {
    throw invalid(at('sendDedup'), `one of ${ledgers.join(', ')}`, sendDedup)
  }
  if (region !== undefined && !(typeof region === 'string' && /^[a-z0-9-]{1,40}$/.test(region))) {
    throw invalid(at('region'), 'a name such as us-east-1', region)
  }
  if (account !== undefined && !(typeof account === 'string' && /^\d{12}$/.test(account))) {
    throw invalid(at('account'), 'twelve digits', account)
  }
  if (listen !== undefined) checkListen(listen, at('listen'))
  for (const [option, min] of durations) {
    const given = options[option]
    if (given !== undefined) durationMs(given, at(option), min, limits.timerMsMax)
  }
}

export function checkedSqsOptions(options: SqsOptions, what: string): SqsSettings {
  checkSqsOptions(options, what)
  const { host = defaults.sqsHost, keys = {}, unsigned = false, region } = options
  if (unsigned && !loopback.test(host)) throw new FencepostError('FP_SQS_UNSIGNED', `host is ${shown(host)}`)
  if (!unsigned && Object.keys(keys).length === 0) throw new FencepostError('FP_SQS_NO_KEYS')
  return {
    port: options.port ?? defaults.sqsPort,
    host,
    keys,
    unsigned,
    sendDedup: options.sendDedup ?? 'on',
    ledgerMs: durationMs(options.sendLedger ?? defaults.sqsLedgerMs, 'sendLedger'),
    region: region ?? defaultRegion,
    signedRegion: region,
    account: options.account ?? defaultAccount,
    purgeEveryMs: durationMs(options.purgeEvery ?? defaults.sqsPurgeEveryMs, 'purgeEvery'),
    skewMs: durationMs(options.clockSkew ?? defaults.sqsClockSkewMs, 'clockSkew'),
    pollMs: durationMs(options.poll ?? defaults.pollMs, 'poll'),
    listen: options.listen ?? true,
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
