import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import type { Database } from '../store/database.js'
import { sweepMessages } from '../store/sqs-messages.js'
import { moveMessages } from '../store/sqs-move-tasks.js'
import { registerServer, retireServer, seeServer } from '../store/sqs-servers.js'
import { Maintenance } from '../worker/maintenance.js'
import { authorizer, checkRights } from './authorization.js'
import type { Desk } from './desk.js'
import { FairRanks } from './fair-ranks.js'
import { type HttpServer, startHttpServer } from './http-server.js'
import { messageActions } from './message-actions.js'
import { MessageStore } from './message-store.js'
import { moveTaskActions } from './move-task-actions.js'
import { queueActions } from './queue-actions.js'
import { QueueWaiters } from './queue-waiters.js'
import type { SqsAction, SqsCall, SqsHandler } from './sqs-call.js'
import type { SqsSettings } from './sqs-options.js'
import type { ActionName } from './wire/model.js'

/** An endpoint that speaks SQS. */
export interface SqsServer {
  readonly url: string
  readonly port: number
  /** Answers those who wait, lets requests in flight end, and stops. */
  close(): Promise<void>
}

/** A server that was not seen for so long is not reckoned with any more. */
const deadMs = 60_000
const seenEveryMs = 5_000
const sweepEveryMs = 10_000
const moveEveryMs = 1_000
const poolSize = 10
const statementMsMax = 30_000
/** A client gives up sooner than a worker: after this, it is told that the database is away, and tries again. */
const databaseRetryMs = 5_000

export async function startSqsServer(base: Database, events: Events, settings: SqsSettings): Promise<SqsServer> {
  const db = base.sibling({ poolSize, statementMsMax, retryMs: databaseRetryMs, applicationName: 'fencepost sqs' })
  const server = `sqs/${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`
  const register = async () => {
    const inTheWay = await registerServer(db, server, settings.sendDedup, deadMs)
    if (inTheWay.length === 0) return waiters.askAgain()
    const others = inTheWay.map((other) => `${other.server} ('${other.ledger}')`).join(', ')
    throw new FencepostError('FP_SQS_LEDGER', `sendDedup is '${settings.sendDedup}' here; at odds with it: ${others}`)
  }
  const messages = new MessageStore(db, server)
  const waiters = new QueueWaiters({ db, messages, events, server, pollMs: settings.pollMs, listen: settings.listen })
  const desk: Desk = {
    db,
    server,
    keys: settings.keys,
    region: settings.region,
    account: settings.account,
    purgeEveryMs: settings.purgeEveryMs,
    messages,
    waiters,
    ranks: new FairRanks(),
    register,
  }
  let http: HttpServer | undefined
  try {
    // Above it nobody is admitted through the gate of a message group.
    if (await db.isAboveReadCommitted()) db.sayReadCommitted()
    await db.prepareMoves()
    await register()
    http = await startHttpServer({
      host: settings.host,
      port: settings.port,
      authorize: authorizer(settings),
      handle: handler(desk, settings),
      log: ({ action, error }) => events.emit('error', { during: `SQS ${action ?? 'request'}`, error }),
    }).catch((error: NodeJS.ErrnoException) => {
      const code = error.code === 'EADDRINUSE' ? 'FP_PORT_IN_USE' : 'FP_SQS_UNAVAILABLE'
      const why = code === 'FP_PORT_IN_USE' ? '' : `: ${error.message}`
      throw new FencepostError(code, `${settings.host}:${settings.port}${why}`, { cause: error })
    })
  } catch (error) {
    await waiters.close()
    await retireServer(db, server).catch(() => {})
    await db.close()
    throw error
  }
  const chores = startChores(db, events, settings, desk)
  const { url, port } = http
  let closed: Promise<void> | undefined
  return {
    url,
    port,
    close() {
      closed ??= (async () => {
        await http.close()
        await chores.stop()
        await waiters.close()
        await retireServer(db, server).catch(() => {}) // otherwise it is swept
        await db.close()
      })()
      return closed
    },
  }
}

function handler(desk: Desk, settings: SqsSettings): SqsHandler {
  const actions: { readonly [A in ActionName]: SqsAction<A> } = {
    ...queueActions(desk),
    ...messageActions(desk),
    ...moveTaskActions(desk),
  }
  return async (call) => {
    checkRights(settings, call)
    return (actions[call.action] as (call: SqsCall) => ReturnType<SqsHandler>)(call)
  }
}

/** What every server does now and then, whether or not workers do it, too: there is no leader. */
function startChores(db: Database, events: Events, settings: SqsSettings, desk: Desk): { stop(): Promise<void> } {
  const maintenance = new Maintenance({ db, events, pollMs: settings.pollMs, onRound: () => {}, onRing: () => {} })
  const stops = [
    every(seenEveryMs, 'being seen', events, async () => {
      if (!(await seeServer(db, desk.server))) await desk.register()
    }),
    every(sweepEveryMs, 'sweeping old messages', events, () => sweepMessages(db, settings.ledgerMs)),
    every(moveEveryMs, 'moving messages', events, async () => {
      while (await moveMessages(db)) await new Promise((resolve) => setImmediate(resolve))
    }),
  ]
  return {
    stop: async () => {
      await Promise.all([maintenance.stop(), ...stops.map((stop) => stop())])
    },
  }
}

/** One after the other, never two at a time. */
function every(ms: number, during: string, events: Events, work: () => Promise<unknown>): () => Promise<void> {
  let stopped = false
  let working: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const schedule = () => {
    if (stopped) return
    timer = setTimeout(() => {
      working = work()
        .catch((error: unknown) => {
          if (!stopped) events.emit('error', { during, error })
        })
        .then(schedule)
    }, ms)
  }
  schedule()
  return async () => {
    stopped = true
    clearTimeout(timer)
    await working
  }
}
