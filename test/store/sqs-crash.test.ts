import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/database.js'
import {
  changeVisibility,
  deleteMessages,
  receiveMessages,
  type Send,
  sendMessages,
  sweepMessages,
} from '../../src/store/sqs-messages.js'
import { moveMessages, startMoveTask } from '../../src/store/sqs-move-tasks.js'
import { createQueue, deleteQueue, purgeQueue, setQueue } from '../../src/store/sqs-queues.js'
import { registerServer } from '../../src/store/sqs-servers.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { aGrouped, anEntry, plainSettings, setupSqs } from '../harness/sqs.js'

type Bundle = Awaited<ReturnType<typeof setupSqs>>

interface Case {
  readonly fifo?: boolean
  readonly settings?: object
  /** A table that the move writes when it has written others already. */
  readonly middle?: string
  /** Sets the scene; answers the move. */
  readonly arrange: (bundle: Bundle, queue: string) => Promise<(db: Database) => Promise<unknown>>
}

const toDead = (name: string) => ({
  redrivePolicy: { deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${name}`, maxReceiveCount: 1 },
})
const ask = (queue: string, more: object = {}) => ({
  queue,
  max: 10,
  visibleMs: null,
  receiver: 'r1',
  attempt: null,
  inFlightMax: null,
  ...more,
})
const three = (group?: string): Send[] => [1, 2, 3].map(() => (group ? aGrouped(group) : anEntry()))

/** Dead letters, and a task that brings them back. */
async function aMoveTask(bundle: Bundle, queue: string, dead: string): Promise<(db: Database) => Promise<unknown>> {
  await bundle.make(dead)
  for (const entry of three(queue.endsWith('.fifo') ? 'g' : undefined)) {
    await bundle.send(entry)
    await bundle.receive({ visibleMs: 0 })
    await bundle.receive({ visibleMs: 0 })
  }
  await startMoveTask(bundle.db, { id: randomUUID(), source: dead, destination: null, perSecond: null })
  return moveMessages
}

const cases: Record<string, Case> = {
  'a send': {
    middle: 'job', // the ledger is written
    arrange: async () => {
      const entries = three()
      return (db) => sendMessages(db, 's1', 'q', entries)
    },
  },
  'a send to a FIFO queue': {
    fifo: true,
    middle: 'gate',
    arrange: async () => {
      const entries = three('g')
      return (db) => sendMessages(db, 's1', 'q.fifo', entries)
    },
  },
  'a receive that finds time run out': {
    middle: 'attempt',
    arrange: async ({ send, receive }) => {
      await send(...three())
      await receive({ visibleMs: 0 })
      return (db) => receiveMessages(db, ask('q'))
    },
  },
  'a receive of a group': {
    fifo: true,
    middle: 'waiting', // its head is leased
    arrange: async ({ send }) => {
      await send(...three('g'))
      return (db) => receiveMessages(db, ask('q.fifo'))
    },
  },
  'a receive that is repeated': {
    fifo: true,
    arrange: async ({ send, receive }) => {
      await send(...three('g'))
      await receive({ attempt: 'x', max: 2 })
      return (db) => receiveMessages(db, ask('q.fifo', { attempt: 'x', max: 2 }))
    },
  },
  'a receive that finds dead letters': {
    settings: toDead('dead'),
    middle: 'job', // they are out of their queue
    arrange: async ({ make, send, receive }) => {
      await make('dead')
      await send(...three())
      await receive({ visibleMs: 0 })
      return (db) => receiveMessages(db, ask('q'))
    },
  },
  'a receive that finds the head of a group dead': {
    fifo: true,
    settings: toDead('dead.fifo'),
    middle: 'job',
    arrange: async ({ make, send, receive }) => {
      await make('dead.fifo')
      await send(...three('g'))
      await receive({ visibleMs: 0, max: 1 })
      return (db) => receiveMessages(db, ask('q.fifo'))
    },
  },
  'a delete': {
    middle: 'finished',
    arrange: async ({ send, receive }) => {
      await send(...three())
      const received = await receive()
      return (db) => deleteMessages(db, 'q', received)
    },
  },
  'a delete in a group': {
    fifo: true,
    middle: 'finished',
    arrange: async ({ send, receive }) => {
      await send(...three('g'))
      const received = await receive({ max: 2 })
      return (db) => deleteMessages(db, 'q.fifo', received)
    },
  },
  'a change of the visibility to 0': {
    fifo: true,
    middle: 'attempt',
    arrange: async ({ send, receive }) => {
      await send(...three('g'))
      const received = await receive({ max: 2 })
      const changes = received.map((receipt, n) => ({ ...receipt, visibleMs: n * 60_000 }))
      return (db) => changeVisibility(db, 'q.fifo', changes)
    },
  },
  'a change of a delay': {
    fifo: true,
    settings: { delaySeconds: 100 },
    middle: 'delayed', // the settings are changed
    arrange: async ({ send }) => {
      await send(...three('g'))
      return (db) =>
        setQueue(db, 'q.fifo', { ...plainSettings, delaySeconds: 100 }, { ...plainSettings, delaySeconds: 0 })
    },
  },
  'a purge': {
    middle: 'finished',
    arrange: async ({ send, receive }) => {
      await send(...three())
      await receive({ max: 1 })
      return (db) => purgeQueue(db, 'q', 60_000)
    },
  },
  'the deletion of a FIFO queue': {
    fifo: true,
    middle: 'sqs_dedup', // its messages are gone
    arrange: async ({ send, receive }) => {
      await send(...three('g'))
      await receive({ max: 2 })
      return (db) => deleteQueue(db, 'q.fifo')
    },
  },
  'the creation of a queue': {
    arrange: async () => (db) => createQueue(db, 'new', plainSettings, {}),
  },
  'the registration of a server': {
    arrange: async ({ advance }) => {
      await advance(60_001)
      return (db) => registerServer(db, 's2', 'on', 60_000)
    },
  },
  'a sweep': {
    fifo: true,
    settings: { messageRetentionPeriod: 60 },
    middle: 'finished', // the ledger is swept
    arrange: async ({ send, receive, advance }) => {
      await send(...three('g'))
      await receive({ max: 1, visibleMs: 600_000 })
      await advance(301_000)
      return (db) => sweepMessages(db, 300_000)
    },
  },
  'a move of dead letters': {
    settings: toDead('dead'),
    middle: 'job', // they are out of their queue
    arrange: (bundle, queue) => aMoveTask(bundle, queue, 'dead'),
  },
  'a move of dead letters of a group': {
    fifo: true,
    settings: toDead('dead.fifo'),
    middle: 'gate',
    arrange: (bundle, queue) => aMoveTask(bundle, queue, 'dead.fifo'),
  },
}

async function setupCase({ fifo, settings = {}, arrange }: Case) {
  const queue = fifo ? 'q.fifo' : 'q'
  const bundle = await setupSqs(settings, queue)
  const move = await arrange(bundle, queue)
  const { sql } = bundle
  const tables = await sql<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'fencepost'::regnamespace and relkind = 'r' order by 1`,
  )
  /** Every row of every table. */
  const everything = async () => {
    const rows = await Promise.all(
      tables.map(({ name }) => sql<{ t: string }>(`select t::text from fencepost.${name} t order by 1`)),
    )
    return tables.flatMap(({ name }, n) => (rows[n] ?? []).map(({ t }) => `${name} ${t}`))
  }
  const end = (session: Session) => sql('select pg_terminate_backend($1, 5000)', [session.pid])
  /** It is as if the move had never been tried, and the next one does it. */
  const expectUndone = async (before: readonly string[]) => {
    expect(await everything()).toEqual(before)
    await bundle.sound()
    await move(bundle.db)
    expect(await everything()).not.toEqual(before)
    await bundle.sound()
  }
  return { ...bundle, move, everything, end, expectUndone }
}

describe('a backend that is ended', () => {
  for (const [name, each] of Object.entries(cases)) {
    it(`before ${name} commits has changed nothing`, async () => {
      const bundle = await setupCase(each)
      const before = await bundle.everything()
      const session = await Session.open(bundle)
      await session.begin()
      await bundle.move(session)
      await bundle.end(session)

      await bundle.expectUndone(before)
    })
  }

  for (const [name, each] of Object.entries(cases)) {
    if (!each.middle) continue
    it(`in the middle of ${name} has changed nothing`, async () => {
      const bundle = await setupCase(each)
      const before = await bundle.everything()
      const [locker, session] = [await Session.open(bundle), await Session.open(bundle)]
      await locker.begin()
      await locker.query(`lock table fencepost.${each.middle} in exclusive mode`)
      const failed = expect(bundle.move(session)).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
      await untilBlocked(bundle.sql, session.pid, failed)
      await bundle.end(session)
      await failed
      await locker.rollback()

      await bundle.expectUndone(before)
    })
  }
})
