import type { Isolation, Move, Row } from './move.js'
import { type Call, explained } from './serial-order.js'
import type { Session } from './session.js'
import { readRows } from './snapshot.js'
import type { Server, World } from './world.js'

/**
 * Moves that run at the same time.
 * `free`: sent at once. `barrier`: the clock is locked until each has got as far as it can, which is in the middle of
 * its statements, with some rows locked. `held`: the first is carried out in a transaction that stays open until the
 * others are done or wait for it, and is then committed or rolled back.
 */
export interface Round {
  readonly how: 'free' | 'barrier' | 'commit' | 'rollback'
  readonly moves: readonly Move[]
  /** The transaction that is held has taken its snapshot before the second move, and makes its own move after it. */
  readonly late: boolean
}

/** Carries the round out and finds the serial order that explains it. Answers what each move was told. */
export async function race(world: World, server: Server, round: Round): Promise<(readonly Row[])[]> {
  const calls = round.moves.map((move, i): Call => {
    const session = server.sessions[i] as Session
    return {
      session,
      move,
      answer: [],
      issuedAt: 0,
      doneAt: Number.POSITIVE_INFINITY,
      undone: false,
      waitedFor: undefined,
    }
  })
  await carryOut(server, round, calls)
  const rows = await readRows(server.onlooker)
  world.model = explained(world, calls, rows)
  for (const { move, answer } of calls) world.note(move, answer)
  world.closeStep()
  return calls.map(({ answer }) => answer)
}

async function carryOut(server: Server, round: Round, calls: readonly Call[]): Promise<void> {
  let time = 0
  const issue = async (call: Call, inTransaction = false): Promise<void> => {
    call.issuedAt = ++time
    try {
      call.answer = await call.session.perform(call.move, inTransaction)
      call.undone = call.answer[0]?.['error'] === '40001'
    } finally {
      if (!inTransaction) call.doneAt = ++time
    }
  }
  /** Until it is done, or waits. Its end is collected in `running`. */
  const running: Promise<void>[] = []
  const push = async (call: Call): Promise<void> => {
    running.push(issue(call))
    while (call.doneAt === Number.POSITIVE_INFINITY && !(await server.onlooker.isWaiting(call.session)));
  }

  if (round.how === 'free') {
    await Promise.all(calls.map((call) => issue(call)))
    return
  }
  if (round.how === 'barrier') {
    await server.barrier.begin('read committed')
    await server.barrier.query('lock table fencepost.lab_clock in access exclusive mode')
    for (const call of calls) await push(call)
    await server.barrier.end('commit')
    await Promise.all(running)
    return
  }
  const [first, ...others] = calls as [Call, ...Call[]]
  await first.session.begin(isolationOf(first.move))
  if (round.late) await issue(others.shift() as Call)
  await issue(first, true)
  for (const call of others) {
    await push(call)
    if (call.doneAt === Number.POSITIVE_INFINITY) call.waitedFor = first
  }
  const refused = await first.session.end(round.how)
  first.answer = refused ?? first.answer
  first.undone ||= refused !== undefined || round.how === 'rollback'
  first.doneAt = ++time
  await Promise.all(running)
}

function isolationOf(move: Move): Isolation {
  return move.kind === 'enqueue' ? move.isolation : 'read committed'
}
