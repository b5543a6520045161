// Plays the scenarios with one peer, and prints a line of JSON for each. The argument is JSON:
// { peer, url, redisPort, ids, repeat }; url is a PostgreSQL, also for BullMQ: the application's own table is there.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { peers } from './peers.js'
import { scenarios } from './scenarios/all.js'
import { Stage } from './stage.js'

const { peer, url, redisPort, ids, repeat = 1 } = JSON.parse(process.argv[2])
const { cannot, policies, also = {}, laterMs = 0 } = peers[peer]
const version = versionOf(peer)
const server = await serverText()
const date = new Date().toISOString().slice(0, 10)

for (const [id, scenario] of Object.entries(scenarios)) {
  if (ids && !ids.includes(id)) continue
  const { name, story } = scenario
  const reason = cannot[id]
  const cell = reason
    ? { verdict: 'not expressible', seen: reason, settings: [], plays: 0 }
    : await cellOf(id, scenario).catch(stuck)
  console.log(
    JSON.stringify({
      peer,
      version,
      server,
      date,
      id,
      name,
      story,
      ...cell,
    }),
  )
}

/** The play went another way than its scenario expects: that says nothing about the peer, and is no result. */
function stuck(error) {
  process.exitCode = 1
  return { verdict: 'no verdict', seen: String(error.message ?? error), settings: [], plays: repeat }
}

async function cellOf(id, scenario) {
  const policy = { ...policies.all, ...policies[id] }
  const played = []
  for (let n = 0; n < repeat; n++) played.push(await once(scenario, policy))
  const broken = played.filter(({ holds }) => !holds)
  const { seen, settings } = broken[0] ?? played[0]
  const verdict =
    broken.length === 0
      ? 'holds'
      : broken.length === repeat
        ? 'broken'
        : `sometimes broken (${broken.length} of ${repeat})`
  const other = also[id] && (await once(scenario, { ...policy, ...also[id].policy }))
  return { verdict, seen: other ? `${seen}; ${also[id].label}: ${other.seen}` : seen, settings, plays: repeat }
}

async function once(scenario, policy) {
  const stage = await Stage.build({ peer, url, redisPort })
  let later = 0
  const cast = {
    peer,
    actor: (name, options = {}) => stage.actor(name, { ...options, policy: { ...options.policy, ...policy } }),
    /** One that comes when the lease of those before it may have run out. */
    laterActor: (name, options = {}) => cast.actor(name, { clockAheadMs: ++later * laterMs, ...options }),
  }
  try {
    const { holds, seen } = await scenario.play(stage, cast)
    return { holds, seen, settings: [...stage.settings] }
  } finally {
    await stage.strike()
  }
}

async function serverText() {
  if (peer === 'bullmq') {
    const { Redis } = await import('ioredis')
    const redis = new Redis(redisPort, '127.0.0.1')
    const [, found] = /redis_version:(\S+)/.exec(await redis.info('server'))
    redis.disconnect()
    return `Redis ${found}`
  }
  const sql = new pg.Client({ connectionString: url })
  await sql.connect()
  const { rows } = await sql.query(`select split_part(current_setting('server_version'), ' ', 1) as version`)
  await sql.end()
  return `PostgreSQL ${rows[0].version}`
}

function versionOf(name) {
  if (name === 'fencepost') return packageOf(join(import.meta.dirname, '..', '..', '..')).version
  let directory = dirname(createRequire(import.meta.url).resolve(name))
  while (packageOf(directory)?.name !== name) directory = dirname(directory)
  return packageOf(directory).version
}

function packageOf(directory) {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  } catch {
    return undefined
  }
}
