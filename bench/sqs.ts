/**
 * `npm run bench:sqs`: messages sent, and received and deleted, in batches of ten, by ten and by forty callers at a time:
 * over HTTP to Fencepost (durable, signed) and to fauxqs (in memory), and by pg-boss's own API on the same PostgreSQL. In
 * interleaved rounds, all on the same Node; what is told are medians and ratios of one run.
 *
 *     npm run bench:sqs [-- --messages 20000 --rounds 5 --callers 10,40 --json]
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Database } from '../src/store/database.js'
import { median, onServer, schema } from './stage.js'
import { answer, node24, peers } from './system.js'

const { values: given } = parseArgs({
  options: {
    messages: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
    callers: { type: 'string', default: '10,40' },
    json: { type: 'boolean', default: false },
  },
})
const messages = Math.ceil(Number(given.messages) / 10) * 10
const rounds = Number(given.rounds)
const body = JSON.stringify({ order: 'o-1', note: 'x'.repeat(80) })
const say = given.json ? () => {} : (text: string) => console.log(text)

interface Phase {
  readonly perSecond: number
  readonly tookMs: readonly number[]
}
interface Round {
  readonly send: Phase
  readonly receive: Phase
}

/** The callers of an endpoint that speaks SQS, in a process of their own. */
async function overHttp(
  endpoint: string,
  callers: number,
): Promise<{ round(analyze: () => Promise<unknown>): Promise<Round>; end(): Promise<unknown> }> {
  const arguments_ = JSON.stringify({ endpoint, messages, callers, body })
  const caller = fork(join(import.meta.dirname, 'sqs-caller.js'), [arguments_], { execPath: node24, execArgv: [] })
  await answer(caller)
  const phase = (name: string) => {
    caller.send(name)
    return answer<Phase>(caller)
  }
  return {
    round: async (analyze) => {
      await phase('create')
      const send = await phase('send')
      await analyze()
      const receive = await phase('receive')
      await phase('remove')
      return { send, receive }
    },
    end: () => ended(caller),
  }
}

interface System {
  readonly round: () => Promise<Round>
  readonly end: () => Promise<unknown>
}

async function fencepostSystem(url: string, db: Database, callers: number): Promise<System> {
  const server = fork(join(import.meta.dirname, 'sqs-server.js'), [url, schema], { execPath: node24, execArgv: [] })
  const { port } = await answer<{ port: number }>(server)
  const callersOf = await overHttp(`http://127.0.0.1:${port}`, callers)
  const round = async () => {
    await db.once(
      `truncate fencepost.job, fencepost.ready, fencepost.waiting, fencepost.leased, fencepost.finished, fencepost.attempt,
         fencepost.sqs_sent`,
    )
    return callersOf.round(() => db.once('vacuum analyze fencepost.ready, fencepost.job, fencepost.leased'))
  }
  return { round, end: () => callersOf.end().then(() => ended(server)) }
}

async function fauxqsSystem(callers: number): Promise<System> {
  const server = fork(join(peers, 'fauxqs-server.js'), { execPath: node24, execArgv: [] })
  const { port } = await answer<{ port: number }>(server)
  const callersOf = await overHttp(`http://127.0.0.1:${port}`, callers)
  return {
    round: () => callersOf.round(() => Promise.resolve()),
    end: () => callersOf.end().then(() => ended(server)),
  }
}

async function pgBossSystem(url: string, callers: number): Promise<System> {
  const arguments_ = JSON.stringify({ url, messages, callers, body })
  const program = fork(join(peers, 'pg-boss-batches.js'), [arguments_], { execPath: node24, execArgv: [] })
  await answer(program)
  const round = () => {
    program.send('round')
    return answer<Round>(program)
  }
  return { round, end: () => ended(program) }
}

function ended(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => {
    child.once('exit', resolve)
    child.disconnect()
  })
}

const p99 = (phases: readonly Phase[]) => {
  const all = phases.flatMap(({ tookMs }) => tookMs).toSorted((a, b) => a - b)
  return all[Math.floor(all.length * 0.99)] as number
}

async function bench(url: string, db: Database, callers: number) {
  say(`${callers} callers`)
  const systems = {
    fencepost: await fencepostSystem(url, db, callers),
    'pg-boss': await pgBossSystem(url, callers),
    fauxqs: await fauxqsSystem(callers),
  }
  const found: Record<string, Round[]> = { fencepost: [], 'pg-boss': [], fauxqs: [] }
  // The first round is for their compilers.
  for (const { round } of Object.values(systems)) await round()
  for (let n = 0; n < rounds; n++) {
    for (const [name, { round }] of Object.entries(systems)) {
      const result = await round()
      found[name]?.push(result)
      const { send, receive } = result
      say(`${name}: sent ${Math.round(send.perSecond)}/s, received and deleted ${Math.round(receive.perSecond)}/s`)
    }
  }
  await Promise.all(Object.values(systems).map(({ end }) => end()))
  const rows = Object.entries(found).map(([system, all]) => ({
    system,
    sentPerSecond: Math.round(median(all.map(({ send }) => send.perSecond))),
    sendP99Ms: p99(all.map(({ send }) => send)),
    receivedPerSecond: Math.round(median(all.map(({ receive }) => receive.perSecond))),
    receiveP99Ms: p99(all.map(({ receive }) => receive)),
  }))
  const against = (peer: string, phase: keyof Round) =>
    median(
      (found['fencepost'] ?? []).map((ours, n) => ours[phase].perSecond / (found[peer]?.[n]?.[phase].perSecond ?? 0)),
    )
  const goals = [
    { name: 'sent, against pg-boss', value: against('pg-boss', 'send'), goal: 1 },
    { name: 'received and deleted, against pg-boss', value: against('pg-boss', 'receive'), goal: 1 },
    { name: 'sent, share of fauxqs', value: against('fauxqs', 'send') },
    { name: 'received and deleted, share of fauxqs', value: against('fauxqs', 'receive') },
  ]
  return { callers, rows, goals }
}

if (!existsSync(node24)) {
  say('Installing the peers …')
  execFileSync('npm', ['ci', '--prefix', peers], { stdio: given.json ? 'ignore' : 'inherit' })
}
const figures = await onServer(async (url, db) => {
  const all = []
  for (const callers of given.callers.split(',')) all.push(await bench(url, db, Number(callers)))
  return all
})
if (given.json) console.log(JSON.stringify(figures, null, 2))
else {
  for (const { callers, rows, goals } of figures) {
    console.log(`${callers} callers`)
    console.table(rows)
    console.table(goals)
  }
}
