import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type pg from 'pg'
import { packageRoot } from '../package-root.js'
import { Database } from '../store/database.js'
import { inSchema } from '../store/schema-name.js'
import { ScratchSchema } from '../store/scratch-schema.js'
import type { ActorOptions } from './actor.js'
import type { Answer, Cue } from './actor-process.js'
import { FaultProxy } from './fault-proxy.js'
import { installLabClock } from './lab-clock.js'
import { installLabReplace } from './lab-replace.js'
import { installOutsideWorld, outsideOf } from './outside-world.js'

/** A scratch schema with its own clock, and the processes that play in it. Striking it leaves nothing behind. */
export class Stage {
  readonly schema: string
  readonly db: Database
  readonly #url: string
  readonly #scratch: ScratchSchema
  readonly #control: pg.Client
  readonly #players = new Map<string, Player>()

  private constructor(url: string, scratch: ScratchSchema) {
    this.#url = url
    this.schema = scratch.name
    this.#scratch = scratch
    this.#control = scratch.session
    this.db = new Database({ url, schema: scratch.name, poolSize: 2, applicationName: 'fencepost lab' })
  }

  /** `naive` is SQL that replaces the functions of a guard. */
  static async build(url: string, naive: string | undefined): Promise<Stage> {
    const scratch = await ScratchSchema.make(url, 'lab', outsideOf)
    const { name: schema, session: control } = scratch
    const stage = new Stage(url, scratch)
    try {
      // Held as long as this stage stands: it closes the pause points.
      await control.query(`select pg_advisory_lock(hashtext('lab_pause'), hashtext($1))`, [schema])
      await installLabClock(control, schema)
      await installLabReplace(control, schema)
      await installOutsideWorld(control, schema)
      await control.query(
        inSchema(
          `create table fencepost.lab_effect (job_id uuid not null, by text not null, at timestamptz not null default clock_timestamp());
           create function fencepost.lab_pause() returns void language sql as $$
             select pg_advisory_xact_lock_shared(hashtext('lab_pause'), hashtext('${schema}'))
           $$;
           create function fencepost.lab_pause(p_actor text) returns void language sql as $$
             select fencepost.lab_pause() where current_setting('application_name') = p_actor
           $$;`,
          schema,
        ),
      )
      if (naive) await replaceGuard(control, schema, naive)
      return stage
    } catch (error) {
      await stage.strike()
      throw error
    }
  }

  /** Clears the stage for another play. Processes that have survived stay: starting them is what takes time. */
  async reset(): Promise<void> {
    for (const player of this.#players.values()) player.rest()
    await this.#control.query(
      inSchema(
        `truncate fencepost.job, fencepost.ready, fencepost.waiting, fencepost.leased, fencepost.delayed,
                  fencepost.parked, fencepost.finished, fencepost.gate, fencepost.nudge, fencepost.attempt, fencepost.signal,
                  fencepost.step, fencepost.action, fencepost.workflow, fencepost.run, fencepost.task_run, fencepost.inbox,
                  fencepost.call, fencepost.timer, fencepost.watch, fencepost.halt, fencepost.sqs_queue, fencepost.sqs_sent, fencepost.sqs_dedup,
                  fencepost.sqs_server, fencepost.sqs_move_task, fencepost.pulse, fencepost.look, fencepost.lab_effect, ${outsideOf(this.schema)}.call;
         alter sequence fencepost.job_seq restart; alter sequence fencepost.lease_seq restart;
         update fencepost.lab_clock set offset_ms = 0;`,
        this.schema,
      ),
    )
    await this.#control.query(`select pg_advisory_unlock(hashtext('lab_pause'), hashtext($1))`, [this.schema])
    await this.#control.query(`select pg_advisory_lock(hashtext('lab_pause'), hashtext($1))`, [this.schema])
  }

  /** The process of an actor, ready to play. */
  async player(options: Omit<ActorOptions, 'url' | 'schema'> & { bundle: string }): Promise<Player> {
    let player = this.#players.get(options.name)
    if (!player || player.dead) {
      player = await Player.spawn(this.#url)
      this.#players.set(options.name, player)
    }
    await player.begin({ ...options, schema: this.schema })
    return player
  }

  /** Functions that wait at their pause point go on. */
  async openPausePoints(): Promise<void> {
    await this.#control.query(`select pg_advisory_unlock(hashtext('lab_pause'), hashtext($1))`, [this.schema])
  }

  /** Fulfilled when a call of this actor waits for a lock; not before `over` says so otherwise. */
  async waitsForLock(name: string, over: () => boolean): Promise<void> {
    while (!over()) {
      const { rows } = await this.#control.query(
        `select 1 from pg_stat_activity
         where application_name = $1 and position($2 in query) > 0 and cardinality(pg_blocking_pids(pid)) > 0`,
        [name, this.schema],
      )
      if (rows.length > 0) return
    }
  }

  async strike(): Promise<void> {
    await Promise.all([...this.#players.values()].map((player) => player.kill()))
    await this.db.close()
    await this.#scratch.drop()
  }
}

/** A second function of the same name would leave the guard where it is, and a play that shows nothing. */
async function replaceGuard(control: pg.Client, schema: string, naive: string): Promise<void> {
  const functions = () =>
    control.query<{ name: string; n: number }>(
      `select proname as name, count(*)::integer as n from pg_proc where pronamespace = $1::regnamespace group by proname`,
      [schema],
    )
  const before = new Map((await functions()).rows.map(({ name, n }) => [name, n]))
  await control.query(inSchema(naive, schema))
  const added = (await functions()).rows.find(({ name, n }) => n > (before.get(name) ?? 1))
  if (added) throw new Error(`the naïve ${added.name}() has other parameters than the one that it is to replace`)
}

/** One actor's process, and the proxy through which it speaks to the server. */
export class Player {
  readonly proxy: FaultProxy
  readonly #url: string
  readonly #process: ChildProcess
  #resting = true
  #cues = 0
  dead = false

  private constructor(process: ChildProcess, proxy: FaultProxy, url: string) {
    this.#process = process
    this.proxy = proxy
    this.#url = url
  }

  static async spawn(serverUrl: string): Promise<Player> {
    const url = new URL(serverUrl)
    const proxy = await FaultProxy.start({ host: url.hostname, port: Number(url.port || 5432) })
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const child = fork(join(packageRoot, 'dist', 'src', 'lab', 'actor-process.js'), [], { execArgv: [] })
    child.setMaxListeners(0)
    return new Player(child, proxy, url.href)
  }

  async begin(options: Omit<ActorOptions, 'url'> & { bundle: string }): Promise<void> {
    if (!this.#resting) return
    this.#resting = false
    await this.#cue({ begin: { ...options, url: this.#url } })
  }

  /** Runs a step; a process that is killed meanwhile answers nothing more. */
  run(stepIndex: number): Promise<Answer> {
    return this.#cue({ step: stepIndex })
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.kill(signal)
  }

  /** The next play begins with a new actor. */
  rest(): void {
    this.#resting = true
  }

  async kill(): Promise<void> {
    if (this.dead) return
    this.dead = true
    const gone = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await gone
    await this.proxy.stop()
  }

  async #cue(what: Cue['what']): Promise<Answer> {
    const id = ++this.#cues
    const answer = await new Promise<Answer | undefined>((resolve) => {
      const hear = (said: Answer) => said.id === id && end(said)
      const end = (said?: Answer) => {
        this.#process.off('message', hear).off('exit', gone)
        resolve(said)
      }
      const gone = () => end()
      this.#process.on('message', hear).on('exit', gone)
      this.#process.send({ id, what } satisfies Cue)
    })
    if (answer) return answer
    if (!this.dead) await this.#bury()
    return { id, note: 'killed', running: [], ran: [] }
  }

  /** It has killed itself. */
  async #bury(): Promise<void> {
    this.dead = true
    await this.proxy.stop()
  }
}
