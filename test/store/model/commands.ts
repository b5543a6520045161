import fc from 'fast-check'
import { anIntent, type Intent, jobsMax, someRivals } from './intents.js'
import type { Move, Row } from './move.js'
import { type Round, race } from './race.js'
import type { Session } from './session.js'
import { type Tally, wordOf } from './tally.js'
import { freshJobId, jobId, type Server, type World } from './world.js'

/** Resolved when it runs, against the model as it is then; told as it was resolved. */
export type Command = fc.AsyncCommand<World, Server>

function told(answer: readonly Row[]): string {
  return answer.map(wordOf).join(', ') || 'nothing'
}

class Step implements Command {
  #told = 'step'

  constructor(
    readonly intent: Intent,
    readonly connection: number,
    readonly tally: Tally,
  ) {}

  /** Each try of a shrink tells its own. */
  [fc.cloneMethod](): Step {
    return new Step(this.intent, this.connection, this.tally)
  }

  check(world: World): boolean {
    return this.intent(world, []) !== undefined
  }

  async run(world: World, server: Server): Promise<void> {
    const move = this.intent(world, []) as Move
    this.#told = `c${this.connection + 1}: ${world.describe(move)}`
    const answer = await world.step(server, server.sessions[this.connection] as Session, move)
    this.#told += ` → ${told(answer)}`
    this.tally.count(move, answer)
  }

  toString(): string {
    return `\n    ${this.#told}`
  }
}

class Advance implements Command {
  constructor(
    readonly ms: number,
    readonly tally: Tally,
  ) {}

  check(): boolean {
    return true
  }

  async run(world: World, server: Server): Promise<void> {
    await server.advance(this.ms)
    world.model.now += this.ms
    this.tally.steps++
  }

  toString(): string {
    return `\n    advance ${this.ms} ms`
  }
}

class Race implements Command {
  #told = 'race'

  constructor(
    readonly how: Round['how'],
    readonly late: boolean,
    readonly anywhere: boolean,
    readonly about: readonly number[],
    readonly intents: readonly Intent[],
    readonly tally: Tally,
  ) {}

  [fc.cloneMethod](): Race {
    return new Race(this.how, this.late, this.anywhere, this.about, this.intents, this.tally)
  }

  /** All moves are made of the state before the round, and of the same few jobs where they name any. */
  #round(world: World): Round {
    const ids = [...world.model.jobs.keys()]
    const leased = ids.filter((id) => world.model.jobs.get(id)?.at.in === 'leased')
    const some = this.anywhere || leased.length === 0 ? ids : leased
    // Without those that came with a turn: their numbers are far away.
    const numbered = ids.filter((id) => id < freshJobId(1, 0)).length
    const unused = numbered < 2 * jobsMax ? numbered : 0
    world.focus = {
      known: this.about.flatMap((n) => some.slice(n % some.length).slice(0, 1)),
      fresh: this.about.map((n) => jobId(n + unused)),
    }
    const moves: Move[] = []
    for (const intent of this.intents) {
      const move = intent(world, moves)
      if (move && moves.length < 3) moves.push(move)
    }
    world.focus = undefined
    return { how: this.how, moves, late: this.late && moves[0]?.kind === 'enqueue' }
  }

  check(world: World): boolean {
    return this.#round(world).moves.length > 1
  }

  async run(world: World, server: Server): Promise<void> {
    const { how, moves, late } = this.#round(world)
    this.#told = `${how}${late ? ', late' : ''}: ${moves.map((move) => world.describe(move)).join(' | ')}`
    const answers = await race(world, server, { how, moves, late })
    this.#told += ` → ${answers.map(told).join(' | ')}`
    for (const [i, answer] of answers.entries()) this.tally.count(moves[i] as Move, answer)
    this.tally.rounds++
  }

  toString(): string {
    return `\n    ${this.#told}`
  }
}

function aStep(tally: Tally): fc.Arbitrary<Command> {
  return fc.tuple(anIntent, fc.nat(2)).map(([intent, connection]) => new Step(intent, connection, tally))
}

function anAdvance(tally: Tally): fc.Arbitrary<Command> {
  // A clock may be set back, too.
  return fc.constantFrom(1, 500, 1_000, 3_000, 10_000, -1_000).map((ms) => new Advance(ms, tally))
}

function aRace(tally: Tally): fc.Arbitrary<Command> {
  return fc
    .tuple(
      fc.constantFrom('free', 'barrier', 'commit', 'rollback'),
      fc.boolean(),
      fc.boolean(),
      fc.array(fc.nat(jobsMax - 1), { minLength: 2, maxLength: 2 }),
      someRivals,
    )
    .map(([how, late, anywhere, about, intents]) => new Race(how, late, anywhere, about, intents, tally))
}

const length = { maxCommands: 240, size: 'max' } as const

/** One move at a time, each on one of several connections. */
export function sequential(tally: Tally): fc.Arbitrary<Iterable<Command>> {
  const step = { weight: 6, arbitrary: aStep(tally) }
  const advance = { weight: 1, arbitrary: anAdvance(tally) }
  return fc.commands([fc.oneof(step, advance)], length)
}

/** Rounds of two or three moves at once, and single moves between them that bring the jobs into all places. */
export function racing(tally: Tally): fc.Arbitrary<Iterable<Command>> {
  const round = { weight: 5, arbitrary: aRace(tally) }
  const step = { weight: 5, arbitrary: aStep(tally) }
  const advance = { weight: 2, arbitrary: anAdvance(tally) }
  return fc.commands([fc.oneof(round, step, advance)], length)
}
