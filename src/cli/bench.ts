import { Command } from 'commander'
import { fencepost } from '../client/fencepost.js'
import { FencepostError } from '../errors.js'
import { ScratchSchema } from '../store/scratch-schema.js'
import { keepRun, type KeptRun, lastRun } from './bench-history.js'
import { type Figure, type Measure, measures } from './bench-measures.js'
import { paintFor } from './colours.js'
import type { GlobalOptions } from './global-options.js'
import { momentText } from './moments.js'
import { wholeNumber } from './option-values.js'
import { ProgressBar } from './progress-bar.js'
import { type Server, serverText, withServer } from './server-session.js'
import { stopSignal } from './stop-signal.js'
import { printTable } from './table.js'

interface BenchOptions extends GlobalOptions {
  readonly jobs: number
}

const jobsMin = 1_000
const jobsMax = 10_000_000

export function benchCommand(): Command {
  return new Command('bench')
    .description('measure how fast this database is with it, in a scratch schema, and compare with the last run')
    .option('--jobs <n>', 'how many jobs the longest measures take', wholeNumber, 20_000)
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<BenchOptions>()
      const { jobs, json = false } = options
      if (!Number.isInteger(jobs) || jobs < jobsMin || jobs > jobsMax) {
        throw new FencepostError('FP_OPTION_INVALID', `--jobs is ${jobs}`, {
          hint: `Give a whole number from ${jobsMin} to ${jobsMax}.`,
        })
      }
      await withServer(options, (server) => bench(server, jobs, json))
    })
}

async function bench(server: Server, jobs: number, json: boolean): Promise<void> {
  const scratch = await ScratchSchema.make(server.url, 'bench')
  const stop = stopSignal()
  try {
    const { rows } = await scratch.session.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    // The embedded server has another port each time.
    const where = server.embedded ? 'embedded PostgreSQL' : serverText(server).replace(/, schema .*/, '')
    const about = { server: where, postgres: rows[0]?.version ?? 'unknown', node: process.versions.node, jobs }
    if (!json) {
      console.log(
        `${where}, version ${about.postgres}, Node ${about.node}: ${jobs} jobs in the schema ${scratch.name}\n`,
      )
    }
    const figures = await measured(server.url, scratch, jobs, stop.signal)
    if (stop.signal.aborted) {
      process.exitCode = 130
      return
    }
    const run: KeptRun = { ...about, at: new Date(), figures }
    const before = await lastRun(run)
    await keepRun(run)
    if (json) console.log(JSON.stringify({ ...run, before: before ?? null }))
    else tell(run, before)
  } finally {
    stop.dispose()
    await scratch.drop()
  }
}

async function measured(url: string, scratch: ScratchSchema, jobs: number, signal: AbortSignal): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [n, measure] of measures.entries()) {
    if (signal.aborted) break
    const count = Math.max(100, Math.round(jobs * measure.share))
    const bar = new ProgressBar(`${n + 1}/${measures.length} ${measure.name}`, count)
    try {
      figures.push(...(await alone(measure, { url, scratch, jobs: count, onDone: (done) => bar.add(done), signal })))
    } finally {
      bar.clear()
    }
  }
  return figures
}

interface Alone {
  readonly url: string
  readonly scratch: ScratchSchema
  readonly jobs: number
  readonly onDone: (jobs: number) => void
  readonly signal: AbortSignal
}

/** Each with tables, a client and workers of its own. */
async function alone(measure: Measure, { url, scratch, jobs, onDone, signal }: Alone): Promise<readonly Figure[]> {
  const schema = scratch.name
  await scratch.session.query(`truncate ${schema}.job, ${schema}.ready, ${schema}.finished, ${schema}.leased`)
  const fp = await fencepost({ database: url, schema, migrate: false })
  try {
    return await measure.run({ fp, jobs, onDone, signal })
  } finally {
    await fp.close()
  }
}

function tell(run: KeptRun, before: KeptRun | undefined): void {
  const earlier = new Map(before?.figures.map(({ name, value }) => [name, value]))
  const change = ({ name, value }: Figure) => {
    const was = earlier.get(name)
    return was === undefined ? '' : `${(value / was).toFixed(2)} ×`
  }
  printTable<Figure>(
    [
      { title: 'measure', text: ({ name }) => name },
      { title: 'now', text: ({ value, unit }) => `${rounded(value)} ${unit}`, align: 'right' },
      ...(before ? [{ title: 'of the last run', text: change, align: 'right' as const }] : []),
    ],
    run.figures,
  )
  const dim = (text: string) => paintFor(process.stdout)('dim', text)
  if (before) console.log(dim(`\nThe last run was at ${momentText(before.at)}. Of milliseconds, less is better.`))
  else console.log(dim('\nKept in .fencepost/bench.json: the next run is compared with this one.'))
}

function rounded(value: number): string {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US')
}
