import { describe, expect, it } from 'vitest'
import { check, type EndedJob, type FinalState, rules } from './checker/checker.js'
import type { Attempt, Disturbance, FreshEnqueue, History, JobStory, MessageStory } from './checker/history.js'
import { type FreshKind, hasEffect, partsOf, type Spec } from './work.js'

const pid = 100
type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

function attempt(given: Partial<Attempt> = {}): Attempt {
  const startedAtMs = given.startedAtMs ?? 20
  return {
    attempt: 1,
    startedAtMs,
    pid,
    leftAtMs: startedAtMs + 10,
    endedAtMs: startedAtMs + 11,
    threw: false,
    settled: 'finished',
    ...given,
  }
}

/** One whose worker was killed. */
function cutShort(given: Partial<Attempt> = {}): Attempt {
  const { startedAtMs = 20, attempt: n = 1 } = given
  return { attempt: n, startedAtMs, pid }
}

function threw(given: Partial<Attempt> = {}): Attempt {
  return attempt({ threw: true, settled: 'failed', ...given })
}

const ended = { outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 }

/** A small history in which everything is in order; each test spoils one thing. */
function world() {
  const jobs = new Map<number, JobStory>()
  const history: Mutable<History> & { jobs: Map<number, JobStory> } = {
    seed: 1,
    jobs,
    cancels: new Map(),
    calls: [],
    stepsDone: [],
    runs: new Map(),
    parts: new Map(),
    messages: new Map<number, MessageStory>(),
    limits: [],
    pauses: [],
    disturbances: [],
    wallOffsetMs: 0,
  }
  const final = {
    jobs: new Map<number, EndedJob>(),
    fresh: [] as FinalState['fresh'][0][],
    storedBy: { carried: 1, born: 1, copied: 1_000 },
    effects: new Map<number, number>(),
    runs: new Map<number, string>(),
    partEffects: new Map<string, number>(),
    messages: [] as FinalState['messages'][0][],
    lost: [] as FinalState['lost'][0][],
    complaints: [] as string[],
    audit: [] as string[],
    accidents: [] as string[],
  }
  const job = (
    n: number,
    spec: Partial<Spec> = {},
    attempts: Attempt[] = [attempt()],
    counts: Partial<typeof ended> = {},
  ) => {
    const whole = { n, kind: 'note', failures: 0, workMs: 0, delayMs: 0, gates: [], cancelAfterMs: 0, ...spec } as const
    const story: JobStory = { spec: whole, triedAtMs: 1, ackedAtMs: 2, attempts }
    jobs.set(n, story)
    final.jobs.set(n, { ...ended, ...counts })
    if (hasEffect(whole) && (counts.outcome ?? 'succeeded') === 'succeeded') {
      final.effects.set(n, 1)
    }
    return story
  }
  /** Asked for with others in one call, the first of which is `call`. */
  const freshJob = (n: number, fresh: Partial<FreshEnqueue> = {}, kind: FreshKind = 'carried') => {
    const story: JobStory = { ...job(n, { kind }), fresh: { call: n, count: 1, id: `id-${n}`, ...fresh } }
    jobs.set(n, story)
    final.fresh.push({ n, id: `id-${n}` })
    return story
  }
  const isNotThere = (n: number) => {
    jobs.get(n)?.attempts.splice(0)
    final.jobs.delete(n)
    final.effects.delete(n)
    final.fresh = final.fresh.filter((each) => each.n !== n)
  }
  const message = (m: number, given: Partial<FinalState['messages'][0]> = {}) => {
    const story: MessageStory = {
      sentAtMs: 5,
      sentId: `id-${m}`,
      received: [{ id: `id-${m}`, askedAtMs: 6 }],
      deletes: 1,
    }
    ;(history.messages as Map<number, MessageStory>).set(m, story)
    final.messages.push({ m, id: `id-${m}`, outcome: 'succeeded', finishedAtMs: 10, ...given })
    return story
  }
  const run = (r: number) => {
    ;(history.runs as Map<number, { acked: boolean }>).set(r, { acked: true })
    final.runs.set(r, 'succeeded')
    for (const part of partsOf(1, r)) final.partEffects.set(`${r}/${part}`, 1)
  }
  return { history, final, job, freshJob, isNotThere, message, run, broken: () => check(history, final) }
}

type World = ReturnType<typeof world>
const disturbed = (what: string, fromMs: number, untilMs = fromMs): Disturbance => ({ what, pid, fromMs, untilMs })

/** By rule: each a way to break it, and what has to be named. */
const spoilt: Readonly<Record<string, readonly [how: string, spoil: (world: World) => void, named: string][]>> = {
  'a job that was acknowledged, or is there, is lost': [
    [
      'it is not there',
      ({ job, final }) => (job(7), final.jobs.delete(7), final.effects.delete(7)),
      'note 7 was acknowledged',
    ],
    [
      'it has not ended',
      ({ job, final }) => (job(7), final.jobs.set(7, { ...ended, outcome: null, tries: 1 }), final.effects.delete(7)),
      'note 7 has not ended',
    ],
    [
      'nobody was told of it, and it has not ended',
      ({ job, final }) => {
        delete job(7).ackedAtMs
        final.jobs.set(7, { ...ended, outcome: null, tries: 1 })
        final.effects.delete(7)
      },
      'note 7 has not ended',
    ],
    [
      'its id was answered, and it is not there',
      ({ freshJob, isNotThere }) => (freshJob(7), isNotThere(7)),
      'carried 7 was acknowledged, and is not there',
    ],
  ],
  'a job under a fresh id is there twice': [
    [
      'both were stored by a call that was answered',
      ({ freshJob, final }) => (freshJob(7), final.fresh.push({ n: 7, id: 'other' })),
      'carried 7: jobs id-7, other',
    ],
    [
      'by a call of which nobody knows',
      ({ freshJob, final }) => {
        delete freshJob(7, { refusal: 'FP_COMMIT_UNKNOWN' }, 'copied').ackedAtMs
        final.fresh.push({ n: 7, id: 'other' })
      },
      'copied 7: jobs id-7, other',
    ],
  ],
  'a fresh id is not the one that was answered': [
    ['', ({ freshJob }) => freshJob(7, { id: 'other' }), 'carried 7 was acknowledged as other, and is id-7'],
  ],
  'an enqueue was refused, and its job is there': [
    [
      '',
      ({ freshJob }) => delete freshJob(7, { refusal: 'FP_DATABASE_UNREACHABLE' }).ackedAtMs,
      'carried 7, FP_DATABASE_UNREACHABLE: job id-7',
    ],
  ],
  'an enqueue is there in part': [
    [
      '',
      ({ freshJob, isNotThere }) => {
        for (const n of [7, 8, 9])
          delete freshJob(n, { call: 7, count: 3, refusal: 'FP_COMMIT_UNKNOWN' }, 'copied').ackedAtMs
        isNotThere(8)
      },
      'copied 7: 2 of 3',
    ],
  ],
  'a way to store jobs was never taken': [
    ['no job was carried', ({ final }) => (final.storedBy.carried = 0), 'carried'],
    ['no job was leased at once', ({ final }) => (final.storedBy.born = 0), 'born'],
    ['no job was copied', ({ final }) => (final.storedBy.copied = 0), 'copied'],
  ],
  'a job was made that nobody asked for': [['', ({ final }) => final.jobs.set(9, ended), 'job 9']],
  'an outcome is not what its handler came to': [
    [
      'a good one failed',
      ({ job }) => job(7, {}, [threw()], { outcome: 'failed', failures: 1 }),
      'note 7 ended as failed',
    ],
    ['a doomed one succeeded', ({ job }) => job(7, { kind: 'doomed' }), 'doomed 7 ended as succeeded'],
  ],
  'committed effects are not one': [
    ['two', ({ job, final }) => (job(7), final.effects.set(7, 2)), 'note 7 has 2 instead of 1'],
    ['none', ({ job, final }) => (job(7), final.effects.delete(7)), 'note 7 has 0 instead of 1'],
    [
      'one of a job that was cancelled',
      ({ job, final, history }) => {
        job(7, { kind: 'victim' }, [], { outcome: 'cancelled', tries: 0 })
        ;(history.cancels as Map<number, unknown>).set(7, { askedAtMs: 3, answer: 'cancelled' })
        final.effects.set(7, 1)
      },
      'victim 7 has 1 instead of 0',
    ],
  ],
  'a job succeeded, and none of its handlers did': [
    ['none was seen', ({ job }) => job(7, { kind: 'plain' }, [], {}), 'plain 7'],
    ['one was cut short', ({ freshJob }) => freshJob(7, {}, 'copied').attempts.splice(0, 1, cutShort()), 'copied 7'],
  ],
  'failures are miscounted': [
    [
      'one too many',
      ({ job }) => job(7, {}, [threw(), attempt({ attempt: 2, startedAtMs: 40 })], { tries: 3, failures: 2 }),
      'note 7 has 2',
    ],
    [
      'one was recorded, and not counted',
      ({ job }) => job(7, {}, [threw(), attempt({ attempt: 2, startedAtMs: 40 })], { tries: 2, releases: 1 }),
      'note 7 has 0',
    ],
    ['a flaky one succeeded too soon', ({ job }) => job(7, { kind: 'flaky', failures: 1 }), 'flaky 7 has 0'],
    [
      'what it threw because it was told to stop was charged',
      ({ job }) =>
        job(7, {}, [threw({ aborted: 'other' }), attempt({ attempt: 2, startedAtMs: 40 })], { tries: 2, failures: 1 }),
      'note 7 has 1; its handlers threw 0 times',
    ],
  ],
  'losses and releases are miscounted': [
    ['a try is missing', ({ job }) => job(7, {}, [attempt()], { tries: 2 }), 'note 7: 2 tries'],
    [
      'a try of a failed one is missing',
      ({ job }) =>
        job(7, { kind: 'doomed' }, [threw(), threw({ attempt: 2, startedAtMs: 40 })], {
          outcome: 'failed',
          tries: 3,
          failures: 2,
        }),
      'doomed 7: 3 tries',
    ],
    [
      'a handler was cut short, and nothing counted',
      ({ job }) =>
        job(7, {}, [cutShort(), threw({ attempt: 2, startedAtMs: 30 }), attempt({ attempt: 3, startedAtMs: 40 })], {
          tries: 3,
          failures: 2,
        }),
      'note 7: 1 handlers were cut short',
    ],
  ],
  'a handler ran without a lease': [
    [
      'a try that there was not',
      ({ job }) => job(7, {}, [attempt(), attempt({ attempt: 2, startedAtMs: 40 })]),
      'note 7: try 2 of 1',
    ],
    [
      'two handlers of one lease',
      ({ job }) => job(7, {}, [attempt(), attempt({ startedAtMs: 40 })]),
      'note 7: one lease, two handlers',
    ],
  ],
  'a lease was lost for no reason': [
    [
      'nothing befell its process',
      ({ final }) => final.lost.push({ n: 7, pid, claimedAtMs: 20, endedAtMs: 3_000 }),
      'job 7 at process 100',
    ],
    [
      'it befell another one',
      ({ final, history }) => {
        final.lost.push({ n: 7, pid, claimedAtMs: 20, endedAtMs: 3_000 })
        history.disturbances = [{ ...disturbed('kill', 100), pid: 101 }]
      },
      'job 7 at process 100',
    ],
    [
      'it befell it long ago',
      ({ final, history }) => {
        final.lost.push({ n: 7, pid, claimedAtMs: 100_000, endedAtMs: 103_000 })
        history.disturbances = [disturbed('stall', 100)]
      },
      'job 7 at process 100',
    ],
  ],
  'a delayed job ran early': [
    ['', ({ job }) => job(7, { kind: 'delayed', delayMs: 500 }, [attempt({ startedAtMs: 300 })]), 'delayed 7: 201 ms'],
  ],
  'a cancel is not what was answered': [
    [
      'told as cancelled',
      ({ job, history }) => (
        job(7, { kind: 'victim' }),
        (history.cancels as Map<number, unknown>).set(7, { askedAtMs: 3, answer: 'cancelled' })
      ),
      '7 was told as cancelled',
    ],
    [
      'told as finished',
      ({ job, history }) => {
        job(7, { kind: 'victim' }, [], { outcome: 'cancelled', tries: 0 })
        ;(history.cancels as Map<number, unknown>).set(7, { askedAtMs: 3, answer: 'finished', outcome: 'succeeded' })
      },
      '7 was told as succeeded',
    ],
    [
      'nobody asked',
      ({ job, history }) => (job(7, {}, [], { outcome: 'cancelled', tries: 0 }), history.cancels),
      'nobody asked for it',
    ],
  ],
  'a gate let in too many': [
    [
      'two at a gate of one',
      ({ job }) => {
        job(7, { gates: ['gate:one'] }, [attempt()])
        job(8, { gates: ['gate:one'] }, [attempt({ startedAtMs: 25 })])
      },
      'gate:one had 2 of 1: 7, 8',
    ],
    [
      'the limit was lowered before either was asked for',
      ({ job, history }) => {
        history.limits = [{ key: 'gate:u', limit: 1, askedAtMs: 0.1, doneAtMs: 0.2 }]
        job(7, { gates: ['gate:u'] }, [attempt()])
        job(8, { gates: ['gate:u'] }, [attempt({ startedAtMs: 25 })])
      },
      'gate:u had 2 of 1: 7, 8',
    ],
    [
      'before anything befell the first',
      ({ job, history }) => {
        history.disturbances = [disturbed('kill', 28)]
        job(7, { gates: ['gate:one'] }, [cutShort(), attempt({ attempt: 2, startedAtMs: 5_000 })], {
          tries: 2,
          losses: 1,
        })
        job(8, { gates: ['gate:one'] }, [attempt({ startedAtMs: 25 })])
      },
      'gate:one had 2 of 1: 7, 8',
    ],
  ],
  'a strict order was broken': [
    [
      'the second began before the first had ended',
      ({ job }) => {
        job(7, { kind: 'strict', gates: ['fifo:0-0'] }, [attempt({ startedAtMs: 40 })])
        job(8, { kind: 'strict', gates: ['fifo:0-0'] }, [attempt({ startedAtMs: 20 })]).triedAtMs = 3
      },
      '8 began before 7 had ended',
    ],
    [
      'it passed one that was to be tried again',
      ({ job }) => {
        job(
          7,
          { kind: 'strict', failures: 1, gates: ['fifo:0-0'] },
          [threw(), attempt({ attempt: 2, startedAtMs: 60 })],
          { tries: 2, failures: 1 },
        )
        job(8, { kind: 'strict', gates: ['fifo:0-0'] }, [attempt({ startedAtMs: 40 })]).triedAtMs = 3
      },
      '8 began before 7 had ended',
    ],
  ],
  'something was started while it was paused': [
    [
      'of a queue',
      ({ job, history }) => {
        history.pauses = [{ what: '{"queue":"side"}', fromMs: 0.5, untilMs: 50 }]
        job(7, { kind: 'gated' })
      },
      'gated 7',
    ],
    [
      'at a gate',
      ({ job, history }) => {
        history.pauses = [{ what: '{"gate":"gate:u"}', fromMs: 0.5, untilMs: 50 }]
        job(7, { gates: ['gate:u'] })
      },
      'note 7',
    ],
  ],
  'an effect outside has several keys': [
    [
      'two keys of one job',
      ({ job, history }) => {
        job(7, { kind: 'charge' })
        history.calls = ['a', 'b'].map((key) => ({ n: 7, attempt: 1, key, atMs: 21 }))
      },
      'charge 7: a, b',
    ],
    [
      'one key of two jobs',
      ({ job, history }) => {
        history.calls = [7, 8].map((n) => (job(n, { kind: 'charge' }), { n, attempt: 1, key: 'a', atMs: 21 }))
      },
      'key a: of jobs 7, 8',
    ],
  ],
  'a step was done again though its result was recorded': [
    [
      '',
      ({ job, history }) => {
        job(7, { kind: 'charge' }, [cutShort(), attempt({ attempt: 2, startedAtMs: 5_000 })], { tries: 2, losses: 1 })
        history.calls = [1, 2].map((n) => ({ n: 7, attempt: n, key: 'a', atMs: n * 1_000 }))
        history.stepsDone = [{ n: 7, attempt: 1, atMs: 1_001 }]
      },
      'done in try 1, called again in 2',
    ],
  ],
  'a charge was never made': [['', ({ job }) => job(7, { kind: 'charge' }), 'charge 7']],
  'a run has not come to its end': [
    ['it stands still', ({ run, final }) => (run(3), final.runs.set(3, 'running')), 'run 3 is running'],
    [
      'it was acknowledged, and is not there',
      ({ history }) => (history.runs as Map<number, unknown>).set(3, { acked: true }),
      'run 3 is not there',
    ],
    ['nobody asked for it', ({ final }) => final.runs.set(3, 'succeeded'), 'run 3 was never asked for'],
  ],
  'a part of a run was not done once': [
    ['twice', ({ run, final }) => (run(3), final.partEffects.set('3/after/0', 2)), 'after/0 of run 3: 2 times'],
    ['never', ({ run, final }) => (run(3), final.partEffects.delete('3/left/0')), 'left/0 of run 3: 0 times'],
    ['one that is none', ({ run, final }) => (run(3), final.partEffects.set('3/after/1', 1)), '3/after/1 is no part'],
  ],
  'a successor was dispatched twice': [
    [
      '',
      ({ history }) => (history.parts as Map<string, unknown>).set('3/after/0', new Set(['a', 'b'])),
      '3/after/0: jobs a, b',
    ],
  ],
  'a send was not stored once': [
    [
      'twice',
      ({ message, final }) => (
        message(3), final.messages.push({ m: 3, id: 'other', outcome: 'succeeded', finishedAtMs: 10 })
      ),
      'message 3 is stored 2 times',
    ],
    ['not at all', ({ message, final }) => (message(3), final.messages.pop()), 'stored as nothing'],
    [
      'under another id than was answered',
      ({ message }) => message(3, { id: 'other' }),
      'acknowledged as id-3, and stored as other',
    ],
    [
      'nobody sent it',
      ({ message, history }) => (message(3), (history.messages as Map<number, unknown>).delete(3)),
      'message 3 was never sent',
    ],
  ],
  'a message was not received and deleted': [
    ['still there', ({ message }) => message(3, { outcome: null, finishedAtMs: null }), 'message 3 is still there'],
    ['it failed', ({ message }) => message(3, { outcome: 'failed' }), 'message 3 ended as failed'],
    ['gone without a delete', ({ message }) => (message(3).deletes = 0), 'its delete asked for 0 times'],
  ],
  'a message was received after its deletion': [
    ['', ({ message }) => message(3).received.push({ id: 'id-3', askedAtMs: 500 }), 'message 3: 490 ms after'],
  ],
  'the server complained': [
    ['a deadlock', ({ final }) => final.complaints.push('ERROR:  deadlock detected'), 'deadlock detected'],
  ],
  'the audit finds': [['', ({ final }) => final.audit.push('INV_006'), 'INV_006']],
  'a process ended by itself': [
    ['', ({ final }) => final.accidents.push('worker-1 ended with 1'), 'worker-1 ended with 1'],
  ],
}

describe('the checker of the torture', () => {
  it('has a doctored history for each of its rules', () => {
    expect(Object.keys(spoilt).sort()).toEqual(Object.keys(rules).sort())
  })

  const cases = Object.entries(spoilt).flatMap(([rule, ways]) =>
    ways.map(([how, spoil, named]) => ({ rule, how, spoil, named })),
  )
  it.each(cases)('reports: $rule $how', ({ rule, spoil, named }) => {
    const made = world()
    spoil(made)
    expect(made.broken()).toEqual(expect.arrayContaining([{ rule, what: expect.stringContaining(named) as string }]))
  })

  it('finds nothing where everything is in order', () => {
    const { job, run, message, history, broken } = world()
    job(1, { kind: 'plain' })
    job(2)
    job(3, { kind: 'flaky', failures: 1 }, [threw(), attempt({ attempt: 2, startedAtMs: 60 })], {
      tries: 2,
      failures: 1,
    })
    job(4, { kind: 'doomed' }, [threw(), threw({ attempt: 2, startedAtMs: 60 })], {
      outcome: 'failed',
      tries: 2,
      failures: 2,
    })
    job(5, { kind: 'charge' })
    history.calls = [{ n: 5, attempt: 1, key: 'a', atMs: 21 }]
    history.stepsDone = [{ n: 5, attempt: 1, atMs: 22 }]
    run(3)
    message(3)
    expect(broken()).toEqual([])
  })

  it('lets an enqueue be there or not, as a whole, of which its caller was told nothing, or that nobody knows', () => {
    const { freshJob, isNotThere, broken } = world()
    freshJob(1)
    delete freshJob(2, { refusal: 'FP_DATABASE_UNREACHABLE' }).ackedAtMs
    isNotThere(2)
    for (const [n, refusal] of [
      [10, 'FP_COMMIT_UNKNOWN'],
      [20, undefined],
    ] as const) {
      for (const each of [n, n + 1, n + 5, n + 6]) {
        const call = { call: each < n + 5 ? n : n + 5, count: 2, ...(refusal && { refusal }) }
        const story = freshJob(each, call, 'copied')
        delete story.ackedAtMs
        delete story.fresh?.id
      }
      for (const each of [n, n + 1]) isNotThere(each)
    }
    expect(broken()).toEqual([])
  })

  it('does not take a zombie for a holder: it no longer has its lease, and another has its gate', () => {
    const { job, history, broken } = world()
    history.disturbances = [disturbed('stop', 30, 6_000)]
    job(1, { gates: ['gate:one'] }, [cutShort(), attempt({ attempt: 2, startedAtMs: 3_000, pid: 101 })], {
      tries: 2,
      losses: 1,
    })
    job(2, { gates: ['gate:one'] }, [attempt({ startedAtMs: 3_100, pid: 101 })])
    expect(broken()).toEqual([])
  })

  it('does not take a handler for a holder that goes on though it was told to stop', () => {
    const late = attempt({ startedAtMs: 25 })
    const stopped = { aborted: 'other', abortedAtMs: 22 } as const
    for (const [first, found] of [
      [cutShort({ startedAtMs: 20 }), ['a gate let in too many']],
      [{ ...cutShort({ startedAtMs: 20 }), leftAtMs: 30, endedAtMs: 31, ...stopped }, []],
    ] as const) {
      const { job, broken } = world()
      job(1, { gates: ['gate:one'] }, [first, attempt({ attempt: 2, startedAtMs: 3_000 })], { tries: 2, releases: 1 })
      job(2, { gates: ['gate:one'] }, [late])
      expect(broken().map(({ rule }) => rule)).toEqual(found)
    }
  })

  it('lets a job be admitted by the limit that was in force while it waited', () => {
    const { job, history, broken } = world()
    history.limits = [
      { key: 'gate:u', limit: 2, askedAtMs: 0.1, doneAtMs: 0.2 },
      { key: 'gate:u', limit: 1, askedAtMs: 15, doneAtMs: 16 },
    ]
    job(1, { gates: ['gate:u'] })
    job(2, { gates: ['gate:u'] }, [attempt({ startedAtMs: 25 })])
    expect(broken()).toEqual([])
  })

  it('shows ten of a kind, and how many more there are', () => {
    const { final, broken } = world()
    for (let n = 0; n < 12; n++) final.audit.push(`finding ${n}`)
    expect(broken()).toHaveLength(11)
    expect(broken().at(-1)?.what).toBe('… and 2 more')
  })
})
