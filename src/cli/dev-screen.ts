import type { Outcome, Place } from '../job/places.js'
import type { JobView, QueueView } from '../store/read.js'
import { outcomeColours, type Paint, placeColours } from './colours.js'
import { type Move, type MoveRecorder, moveText } from './dev-moves.js'
import { printable } from './printable.js'
import { fitted, type Segment } from './segments.js'

export interface DevState {
  readonly server: string
  readonly queue: QueueView | undefined
  readonly tally: MoveRecorder['tally']
  /** The newest first. */
  readonly jobs: readonly JobView[]
  readonly moves: readonly Move[]
  readonly trouble: string | undefined
}

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

const lanes = ['delayed', 'ready', 'leased', 'finished'] as const satisfies readonly Place[]
const laneWidth = 9
const idWidthFull = 36
const columnsForFullIds = 118
const movesShownMax = 6
const outcomeMarks: Readonly<Record<Outcome, string>> = {
  succeeded: '✔',
  failed: '✘',
  cancelled: '⊘',
  discarded: '⊘',
  expired: '⊘',
}

/** How many jobs fit on the screen beside the rest. */
export function jobsThatFit({ rows }: ScreenSize): number {
  return Math.max(1, rows - 6 - movesThatFit(rows))
}

function movesThatFit(rows: number): number {
  return Math.max(0, Math.min(movesShownMax, rows - 14))
}

/** The whole screen, line by line, no line wider and no more lines than there is room. */
export function drawDevScreen(state: DevState, size: ScreenSize, paint: Paint): string[] {
  const jobs = state.jobs.slice(0, jobsThatFit(size))
  const moves = movesThatFit(size.rows) === 0 ? [] : state.moves.slice(-movesThatFit(size.rows))
  const lines: Segment[][] = [
    [
      ['fencepost dev', 'bold'],
      [`  Ctrl-C stops  ${state.server}`, 'dim'],
    ],
    totals(state),
    [],
    laneTitles(size),
    ...jobs.map((job) => jobLine(job, size)),
    [],
    ...moves.map(moveLine),
  ]
  return lines.slice(0, size.rows).map((line) => fitted(line, size.columns, paint))
}

function totals({ queue, tally, trouble }: DevState): Segment[] {
  if (trouble !== undefined) return [[printable(trouble), 'red']]
  const alive = (['delayed', 'waiting', 'ready', 'leased', 'parked'] as const)
    .filter((place) => (place !== 'parked' && place !== 'waiting') || (queue?.[place] ?? 0) > 0)
    .flatMap((place): Segment[] => [[`${place} `, placeColours[place]], [`${queue?.[place] ?? 0}  `]])
  const ended = (['succeeded', 'failed', 'cancelled'] as const).flatMap((outcome): Segment[] => [
    [`${outcome} `, outcomeColours[outcome]],
    [`${tally[outcome]}  `],
  ])
  return [...alive, ['│  ', 'dim'], ...ended]
}

function laneTitles(size: ScreenSize): Segment[] {
  return [
    ['JOB'.padEnd(idWidth(size) + 2), 'dim'],
    ['TASK'.padEnd(15), 'dim'],
    ...lanes.map((lane): Segment => [centred(lane, laneWidth), placeColours[lane]]),
    [' TRIES  NOTE', 'dim'],
  ]
}

/** A mark in the lane of its place: it moves to the right as the job goes on, and back for a retry. */
function jobLine(job: JobView, size: ScreenSize): Segment[] {
  return [
    [`${shortened(job.id, idWidth(size))}  `, 'dim'],
    [printable(job.task).slice(0, 14).padEnd(15)],
    ...lanes.map((lane): Segment => {
      if (lane !== job.place) return [centred('·', laneWidth), 'dim']
      return job.outcome
        ? [centred(outcomeMarks[job.outcome], laneWidth), outcomeColours[job.outcome]]
        : [centred('●', laneWidth), placeColours[lane]]
    }),
    [` ${String(job.tries).padStart(5)}  `],
    [printable(note(job)), 'dim'],
  ]
}

function note(job: JobView): string {
  if (job.outcome === 'succeeded') return ''
  if (job.outcome) return job.reason ? `${job.outcome}: ${job.reason}` : job.outcome
  if (job.place === 'waiting') return `waits at ${job.waitsAt}`
  if (job.place === 'parked') return `parked for ${job.waitName}`
  if (job.cancelRequestedAt) return 'cancel requested'
  return job.failures > 0 ? `failed ${job.failures === 1 ? 'once' : `${job.failures} times`}` : ''
}

function moveLine(move: Move): Segment[] {
  const colour = move.outcome ? outcomeColours[move.outcome] : placeColours[move.to]
  return [
    [`${move.at.toISOString().slice(11, 19)}  ${shortened(move.jobId, 13)}  `, 'dim'],
    [printable(move.task).slice(0, 14).padEnd(15)],
    [moveText(move).padEnd(28), colour],
    [printable(move.note), 'dim'],
  ]
}

function idWidth({ columns }: ScreenSize): number {
  return columns >= columnsForFullIds ? idWidthFull : 13
}

/** The end of a time-ordered id is its random part: it tells two jobs of one second apart. */
function shortened(id: string, width: number): string {
  return id.length <= width ? id : `…${id.slice(1 - width)}`
}

function centred(text: string, width: number): string {
  const left = Math.floor((width - text.length) / 2)
  return text.padStart(left + text.length).padEnd(width)
}
