// Where one play takes place: two scratch schemas (the queue's, and one for the application's own table), a directory for
// what the processes tell, and the processes themselves. All of it is gone afterwards.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Actor } from './actor.js'
import { Proxy } from './proxy.js'

const prefix = 'fencepost_peer_'
const lookEveryMs = 50

export class Stage {
  #actors = []
  #proxies = []

  /** `settings`: what the processes said that they gave to the peer, in the order in which it was first said. */
  constructor({ peer, url, redisPort, sql, name }) {
    Object.assign(this, { peer, url, redisPort, sql, name, app: `${name}_app`, queue: `${name}_queue` })
    this.directory = mkdtempSync(join(tmpdir(), 'fencepost-peer-'))
    this.log = join(this.directory, 'log')
    writeFileSync(this.log, '')
    this.settings = new Set()
  }

  static async build({ peer, url, redisPort }) {
    const sql = new pg.Client({ connectionString: url, application_name: 'fencepost peer plays' })
    await sql.connect()
    const name = `${prefix}${randomBytes(5).toString('hex')}`
    // Held for as long as this process lives: what nobody holds was left by one that was killed.
    await sql.query('select pg_advisory_lock(hashtext($1))', [name])
    await strikeAbandoned(sql)
    await sql.query(`create schema ${name}_app`)
    await sql.query(`create table ${name}_app.effect (job text not null, actor text not null)`)
    return new Stage({ peer, url, redisPort, sql, name })
  }

  async strike() {
    await Promise.all(this.#actors.map((actor) => actor.kill()))
    for (const proxy of this.#proxies) proxy.close()
    for (const schema of [this.queue, this.app]) await this.sql.query(`drop schema if exists ${schema} cascade`)
    await this.sql.end()
    rmSync(this.directory, { recursive: true, force: true })
  }

  /** A process of its own. `clockAheadMs` sets the clock of that process ahead; `through` names a proxy. */
  async actor(name, { clockAheadMs = 0, through, policy = {} } = {}) {
    const actor = new Actor(name, {
      peer: this.peer,
      url: through?.url ?? this.url,
      appUrl: this.url,
      redisPort: through?.redisPort ?? this.redisPort,
      app: this.app,
      queue: this.queue,
      directory: this.directory,
      clockAheadMs,
      policy,
    })
    this.#actors.push(actor)
    actor.onSetting = (text) => this.settings.add(text)
    await actor.call('open')
    return actor
  }

  /** Between the actors that are given it and the server. */
  async proxy() {
    const target = new URL(this.url)
    const proxy =
      this.peer === 'bullmq'
        ? await Proxy.to('127.0.0.1', this.redisPort)
        : await Proxy.to(target.hostname, Number(target.port || 5432))
    if (this.peer === 'bullmq') proxy.redisPort = proxy.port
    else {
      target.hostname = '127.0.0.1'
      target.port = String(proxy.port)
      proxy.url = target.href
    }
    this.#proxies.push(proxy)
    return proxy
  }

  /** Lets go on what waits for this name in a handler. */
  open(name) {
    writeFileSync(join(this.directory, `open-${name}`), '')
  }

  /** What the processes have told so far. Written before the next step of a handler: a SIGKILL loses none of it. */
  told(what, actor) {
    const lines = readFileSync(this.log, 'utf8').split('\n').slice(0, -1)
    return lines
      .map((line) => JSON.parse(line))
      .filter((line) => line.what === what && (actor === undefined || line.actor === actor))
  }

  began(actor) {
    return this.told('began', actor)
  }

  async effects() {
    const { rows } = await this.sql.query(`select job, actor from ${this.app}.effect`)
    return rows
  }

  /** Has an actor work, and waits until it has begun a job. The answer to `work` does not come if its handler blocks. */
  async beginsWith(actor, programs, options) {
    const before = this.began(actor.name).length
    const begun = this.until(`${actor.name} begins`, () => this.began(actor.name).length > before)
    const working = actor.call('work', programs, options ?? {})
    begun.catch(() => {})
    working.catch(() => {})
    await Promise.race([begun, working])
    await begun
  }

  /** Waits for a condition, and throws if the deadline comes first: a play that went another way has no verdict. */
  async until(what, condition, deadlineMs = 30_000) {
    if (!(await this.within(deadlineMs, condition)))
      throw new Error(`this did not happen within ${deadlineMs} ms: ${what}`)
  }

  /** Whether it comes to be before the deadline. */
  async within(deadlineMs, condition) {
    const end = performance.now() + deadlineMs
    while (performance.now() < end) {
      if (await condition()) return true
      await pause(lookEveryMs)
    }
    return false
  }
}

async function strikeAbandoned(sql) {
  const { rows } = await sql.query(`select nspname as schema from pg_namespace where nspname like $1`, [`${prefix}%`])
  for (const { schema } of rows) {
    const name = schema.replace(/_(app|queue)$/, '')
    const held = await sql.query('select pg_try_advisory_lock(hashtext($1)) as mine', [name])
    if (!held.rows[0].mine) continue
    await sql.query(`drop schema if exists ${schema} cascade`)
    await sql.query('select pg_advisory_unlock(hashtext($1))', [name])
  }
}
