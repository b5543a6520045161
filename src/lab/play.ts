import { randomUUID } from 'node:crypto'
import { type Actor, labLeaseMs } from './actor.js'
import type { Answer } from './actor-process.js'
import type { Bundle } from './catalogue.js'
import { type EvidenceRow, readEvidence } from './evidence.js'
import { committedThenKilled, Inspection } from './inspection.js'
import { clockName, type Step } from './scenario.js'
import { type Player, Stage } from './stage.js'

/** Kill the actor of a step before it, or when its nth commit has reached the server and the reply has not come back. */
export interface FaultPoint {
  readonly step: number
  readonly commit: number
}

interface PlayedStep {
  readonly by: string
  readonly does: string
  readonly note: string
  readonly commits: number
}

export interface Played {
  readonly steps: readonly PlayedStep[]
  /** What is broken at the end; nothing if the invariant held. */
  readonly violations: readonly string[]
}

/** A play that was looked at after each of its steps. */
export interface TracedPlay extends Played {
  /** The step (from 1) since which each of the violations shows. */
  readonly brokeAt: readonly number[]
  /** What the tables said after so many steps. */
  readonly rowsAfter: readonly (readonly EvidenceRow[])[]
}

/** Plays a scenario against a scratch schema: with the guard, or with its naïve version. */
export function play(bundle: Bundle, url: string, mode: 'naive' | 'guarded'): Promise<Played> {
  return onStage(bundle, url, mode, (perform) => perform())
}

/** The same for a person to look at: what is broken is asked after each step, too. */
export function playTraced(bundle: Bundle, url: string, mode: 'naive' | 'guarded'): Promise<TracedPlay> {
  return onStage(bundle, url, mode, (_perform, trace) => trace())
}

/** Plays it so often on one stage, which is cheaper than to build it anew. Stops after a play that is not as `expected`. */
export function playRepeatedly(
  bundle: Bundle,
  url: string,
  mode: 'naive' | 'guarded',
  { rounds, expected }: { rounds: number; expected: (played: Played) => boolean },
): Promise<Played[]> {
  return onStage(bundle, url, mode, async (perform) => {
    const plays: Played[] = []
    while (plays.length < rounds) {
      const played = await perform()
      plays.push(played)
      if (!expected(played)) break
    }
    return plays
  })
}

/**
 * Plays it with the guard, undisturbed, and then with a crash at each of the points that this shows, on one stage: the
 * processes that survive a play go on in the next.
 */
export function playWithFaults(
  bundle: Bundle,
  url: string,
  pointsOf: (undisturbed: Played) => readonly FaultPoint[] = (undisturbed) => faultPoints(bundle, undisturbed),
): Promise<{ undisturbed: Played; crashes: { point: FaultPoint; played: Played }[] }> {
  return onStage(bundle, url, 'guarded', async (perform) => {
    const undisturbed = await perform()
    const crashes: { point: FaultPoint; played: Played }[] = []
    for (const point of pointsOf(undisturbed)) crashes.push({ point, played: await perform(point) })
    return { undisturbed, crashes }
  })
}

async function onStage<Result>(
  bundle: Bundle,
  url: string,
  mode: 'naive' | 'guarded',
  work: (perform: (fault?: FaultPoint) => Promise<Played>, trace: () => Promise<TracedPlay>) => Promise<Result>,
): Promise<Result> {
  const stage = await Stage.build(url, mode === 'naive' ? bundle.naive : undefined)
  try {
    const perform = async (fault?: FaultPoint) => {
      await stage.reset()
      return new Performance(stage, bundle, mode === 'naive', fault)
    }
    return await work(
      async (fault) => (await perform(fault)).run(),
      async () => (await perform()).runTraced(),
    )
  } finally {
    await stage.strike()
  }
}

const recoveryRoundsMax = 20

class Performance {
  readonly #stage: Stage
  readonly #bundle: Bundle
  readonly #naive: boolean
  readonly #fault: FaultPoint | undefined
  #traced = false
  /** What was broken, and what the tables said, after so many steps. */
  readonly #brokenAfter: (readonly string[])[] = []
  readonly #rowsAfter: (readonly EvidenceRow[])[] = []
  readonly #jobIds: readonly string[]
  readonly #runIds: readonly string[]
  readonly #played: PlayedStep[] = []
  readonly #players = new Map<string, Player>()
  readonly #clock: Actor
  readonly #held = new Map<string, { result: Promise<Answer>; stopped: boolean }>()
  /** The jobs whose handlers are at work, as their own processes tell it. */
  readonly #running = new Map<Player, readonly string[]>()
  readonly #moments: ReadonlySet<string>[] = []

  constructor(stage: Stage, bundle: Bundle, naive: boolean, fault: FaultPoint | undefined) {
    this.#stage = stage
    this.#bundle = bundle
    this.#naive = naive
    this.#fault = fault
    this.#jobIds = Array.from({ length: bundle.scenario.jobs }, () => randomUUID())
    // In this order they are also locked and told of.
    this.#runIds = Array.from({ length: bundle.scenario.runs ?? 0 }, () => randomUUID()).sort()
    this.#clock = { advance: (ms: number) => this.#advance(ms) } as Actor
  }

  async run(): Promise<Played> {
    const { steps } = this.#bundle.scenario
    const names = [...new Set(steps.map((step) => step.by))].filter((by) => by !== clockName)
    await Promise.all(names.map(async (name) => this.#players.set(name, await this.#player(name))))
    for (let index = 0; index < steps.length; index++) {
      await this.#perform(index)
      await this.#trace()
    }
    await this.#stage.openPausePoints()
    await Promise.all([...this.#held.values()].map(({ result }) => result))
    await this.#recover()
    return { steps: this.#played, violations: await this.#check() }
  }

  async runTraced(): Promise<TracedPlay> {
    this.#traced = true
    const played = await this.run()
    const brokeAt = played.violations.map((violation) => this.#shownSince(violation))
    return { ...played, brokeAt, rowsAfter: this.#rowsAfter }
  }

  #check(): Promise<string[]> {
    const notes = new Map(this.#played.map(({ by, does, note }) => [`${by}: ${does}`, note]))
    const inspection = new Inspection(this.#stage.db, this.#jobIds, this.#runIds, notes, this.#moments)
    return this.#bundle.scenario.check(inspection)
  }

  async #trace(): Promise<void> {
    if (!this.#traced) return
    // A check is made for the end; what it makes of the middle of a play need not make sense.
    this.#brokenAfter[this.#played.length] = await this.#check().catch(() => [])
    this.#rowsAfter[this.#played.length] = await readEvidence(this.#stage.db)
  }

  /** The first step from which on a violation was always there. */
  #shownSince(violation: string): number {
    const shown = this.#played.map((_, index) => this.#brokenAfter[index + 1]?.includes(violation) ?? false)
    return Math.min(shown.lastIndexOf(false) + 2, this.#played.length)
  }

  async #perform(index: number): Promise<void> {
    const step = this.#bundle.scenario.steps[index] as Step
    const record = (note: string, commits: number) => this.#played.push({ by: step.by, does: step.does, note, commits })
    if (step.by === clockName) {
      record(await step.run(this.#clock), 0)
      return
    }
    const player = this.#players.get(step.by) as Player
    const kill = this.#fault?.step === index ? this.#fault.commit : step.fault === 'killed' ? 1 : undefined
    if (kill === 0) await player.kill()
    if (player.dead) {
      record('(killed)', 0)
      return
    }
    const before = player.proxy.commits
    const done = (note: string) => record(note, player.proxy.commits - before)
    if (step.pause === 'released') {
      await this.#stage.openPausePoints()
      const held = this.#held.get(step.by)
      if (held?.stopped) player.signal('SIGCONT')
      done(held ? this.#heard(player, await held.result) : '')
      this.#held.delete(step.by)
    } else if (kill !== undefined) {
      const reached = player.proxy.loseReplyOfCommit(kill, 'hold').then(() => true)
      const result = player.run(index)
      const struck = await Promise.race([reached, result.then(() => false)])
      await player.kill()
      // An earlier crash may leave a scenario's own fault nothing to strike; a fault point that was counted is there.
      if (!struck && this.#fault?.step === index) throw new Error(`"${step.by} ${step.does}" has no commit ${kill}`)
      done(struck ? committedThenKilled : `${(await result).note}, then killed`)
    } else if (step.pause === 'held') {
      let over = false
      const result = player.run(index).finally(() => {
        over = true
      })
      const waits = this.#stage.waitsForLock(step.by, () => over)
      const answer = await Promise.race([result, waits.then(() => (over ? result : undefined))])
      await waits
      if (!answer) this.#held.set(step.by, { result, stopped: false })
      done(answer ? this.#heard(player, answer) : 'is held up in the middle')
    } else if (step.pause === 'stopped') {
      player.signal('SIGSTOP')
      this.#held.set(step.by, { result: player.run(index), stopped: true })
      done('SIGSTOP')
    } else {
      if (step.fault === 'reply_cut') void player.proxy.loseReplyOfCommit(1, 'cut')
      done(this.#heard(player, await player.run(index)))
    }
  }

  /** Keeps, from outside, which jobs were at work at the same time; a process that is dead does nothing. */
  #heard(player: Player, { note, running, ran }: Answer): string {
    const others = [...this.#running].filter(([other]) => other !== player && !other.dead).flatMap(([, jobs]) => jobs)
    this.#moments.push(new Set([...others, ...ran]))
    this.#running.set(player, running)
    return note
  }

  /** What a running system does by itself: leases run out and are taken back, and some worker takes up what is left. */
  async #recover(): Promise<void> {
    let times = 0
    this.#running.clear() // their leases run out, and their handlers are aborted
    for (let round = 0; round < recoveryRoundsMax; round++) {
      const [left] = await this.#stage.db.once<{ jobs: number; calls: number }>(
        `select (select count(*) from fencepost.ready) + (select count(*) from fencepost.leased)
              + (select count(*) from fencepost.delayed) + (select count(*) from fencepost.waiting) as jobs,
                (select count(*) from fencepost.call c join fencepost.run r on r.id = c.run_id and r.ended_at is null)
              + (select count(*) from fencepost.timer) as calls`,
      )
      if (!left || left.jobs + left.calls === 0) return
      await this.#advance(2 * labLeaseMs)
      await this.#stage.db.once('select fencepost.lose(), fencepost.promote(), fencepost.overrun(), fencepost.ring()')
      await this.#stage.db.once('select fencepost.admit(null, true, true, 200)')
      const rescuer = await this.#player('rescuer')
      const note = this.#heard(rescuer, await rescuer.run(-1))
      // What goes on and on is one line.
      const last = this.#played.at(-1)
      times = last?.by === 'rescuer' && last.note === note ? times + 1 : 1
      if (times > 1) this.#played.pop()
      const does = times > 1 ? `takes up what is left, ${times} times` : 'takes up what is left'
      this.#played.push({ by: 'rescuer', does, note, commits: 0 })
      await this.#trace()
    }
  }

  async #advance(ms: number): Promise<void> {
    await this.#stage.db.once('update fencepost.lab_clock set offset_ms = offset_ms + $1', [ms])
  }

  #player(name: string): Promise<Player> {
    return this.#stage.player({
      name,
      jobIds: this.#jobIds,
      runIds: this.#runIds,
      naive: this.#naive,
      bundle: this.#bundle.directory,
    })
  }
}

/** Every point at which an actor can be killed, from an undisturbed play with the guard. */
export function faultPoints(bundle: Bundle, undisturbed: Played): FaultPoint[] {
  return bundle.scenario.steps.flatMap((step, index) =>
    killableCommits(step, undisturbed.steps[index]?.commits ?? 0).map((commit) => ({ step: index, commit })),
  )
}

/** 0 is before the step, n at its nth commit. What a scenario makes go wrong by itself is no further point. */
function killableCommits(step: Step, commits: number): number[] {
  if (step.by === clockName || step.pause === 'released' || step.isScene) return []
  if (step.fault === 'killed') return [0]
  if (step.fault === 'reply_cut') return [0, 1] // what follows is the repetition after the cut
  return Array.from({ length: commits + 1 }, (_, commit) => commit)
}
