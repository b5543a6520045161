import { setTimeout as pause } from 'node:timers/promises'
import { Command } from 'commander'
import { paintFor } from './colours.js'
import type { GlobalOptions } from './global-options.js'
import { LiveScreen } from './live-screen.js'
import { printable } from './printable.js'
import { type RunChange, RunChanges } from './run-changes.js'
import { type RunReport, readReport } from './run-report.js'
import { stopSignal } from './stop-signal.js'
import { drawWatchScreen } from './watch-screen.js'
import { printReport } from './workflow-show.js'
import { withRun } from './workflow-session.js'

const lookEveryMs = 250
/** Looking may take this share of the time, however large the run is. */
const lookShareMax = 0.1

export function workflowWatchCommand(): Command {
  return new Command('watch')
    .description('follow a run to its end; the exit code tells whether it succeeded')
    .argument('<run>', 'the id of the run')
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const stop = stopSignal()
      try {
        const last = await withRun(options, given, (workflows, id, db) =>
          follow(() => readReport(workflows, db, id), viewFor(options), stop.signal),
        )
        if (last.run.endedAt === null) {
          if (!options.json) console.error(`The run goes on: fencepost workflow watch ${last.run.id}`)
          process.exitCode = 130
        } else if (last.run.state !== 'succeeded') process.exitCode = 1
      } finally {
        stop.dispose()
      }
    })
}

/** How a run is shown while it goes on: on a live screen, or as lines. */
interface WatchView {
  show(report: RunReport): void
  /** `last` is undefined if there was trouble. */
  end(last: RunReport | undefined): void
}

async function follow(look: () => Promise<RunReport>, view: WatchView, signal: AbortSignal): Promise<RunReport> {
  let last: RunReport | undefined
  try {
    for (;;) {
      const lookedAt = Date.now()
      last = undefined
      last = await look()
      view.show(last)
      if (last.run.endedAt !== null || signal.aborted) return last
      const restMs = Math.max(lookEveryMs, (Date.now() - lookedAt) / lookShareMax)
      await pause(restMs, undefined, { signal }).catch(() => {}) // aborted: no rest
      if (signal.aborted) return last
    }
  } finally {
    view.end(last)
  }
}

function viewFor({ json = false }: GlobalOptions): WatchView {
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb' && !json ? new LiveView() : new LinesView(json)
}

class LiveView implements WatchView {
  #report: RunReport | undefined
  #screen: LiveScreen | undefined

  show(report: RunReport): void {
    this.#report = report
    const paint = paintFor(process.stdout)
    // Only now: an unknown run is an error, and no screen.
    this.#screen ??= new LiveScreen(process.stdout, (size) =>
      this.#report ? drawWatchScreen(this.#report, size, paint) : [],
    )
    this.#screen.redraw()
  }

  /** What was on the screen is gone with it. */
  end(last: RunReport | undefined): void {
    this.#screen?.close()
    if (last) printReport(last)
  }
}

class LinesView implements WatchView {
  readonly #changes = new RunChanges()
  readonly #json: boolean

  constructor(json: boolean) {
    this.#json = json
  }

  show({ run }: RunReport): void {
    for (const change of this.#changes.next(run)) console.log(this.#json ? JSON.stringify(change) : lineOf(change))
  }

  end(): void {}
}

function lineOf({ at, task, ordinal, what, note }: RunChange): string {
  const name = task === null ? 'run' : (ordinal ?? 1) > 1 ? `${task}#${ordinal}` : task
  return `${at.toISOString().slice(11, 23)}  ${name.padEnd(16)}  ${what.padEnd(10)}  ${printable(note)}`.trimEnd()
}
