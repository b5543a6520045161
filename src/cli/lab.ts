import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { type Bundle, type WaitingRow, waitingRows } from '../lab/catalogue.js'
import {
  failureModeId,
  findBundle,
  judge,
  listBundles,
  playBoth,
  playRecoveries,
  type Verdict,
  verdictOf,
} from '../lab/lab.js'
import { paintFor } from './colours.js'
import type { GlobalOptions } from './global-options.js'
import { type PeerOptions, playPeers } from './lab-peers.js'
import { wrapped } from './lab-text.js'
import { timelineLines } from './lab-timeline.js'
import { withServer } from './server-session.js'
import { tableLines } from './table.js'

interface LabOptions extends GlobalOptions, Partial<Omit<PeerOptions, keyof GlobalOptions>> {
  readonly all?: boolean
}

export function labCommand(): Command {
  return new Command('lab')
    .description('play a failure mode in a scratch schema, without and with the guard against it')
    .argument('[id]', 'a failure mode such as FM_001; without it, the list')
    .option('--all', 'play them all, with a crash at every fault point; exit 1 unless every guard earns its place')
    .option(
      '--peer <name>',
      'play it with a peer’s public API instead: pg-boss, graphile-worker, bullmq, fencepost or all',
    )
    .option('--repeat <n>', 'with --peer: how many times each is played')
    .option('--write', 'with --peer: keep the results in docs/comparison.json and docs/comparison.md')
    .action(async (id: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<LabOptions>()
      if (id && options.all) throw new FencepostError('FP_USAGE', 'give a failure mode or --all, not both')
      if (options.peer && options.all) throw new FencepostError('FP_USAGE', 'with --peer, all are played without --all')
      if (!options.peer && (options.repeat ?? options.write) !== undefined)
        throw new FencepostError('FP_USAGE', '--repeat and --write go with --peer')
      if (options.peer !== undefined) await playPeers(id, { ...options, peer: options.peer })
      else if (options.all) await playAll(options)
      else if (id) await playOrExplain(id, options)
      else await list(options)
    })
}

async function list({ json }: LabOptions): Promise<void> {
  const scenarios = (await listBundles()).map(({ scenario: { id, name, story, invariants } }) => ({
    id,
    name,
    story,
    invariants,
  }))
  const rows = [...scenarios, ...waitingRows().map(waiting)].sort((one, other) => (one.id < other.id ? -1 : 1))
  if (json) return console.log(JSON.stringify(rows))
  const told = (row: (typeof rows)[number]) =>
    'waits_for' in row ? `(waits for ${row.waits_for}) ${row.story}` : row.story
  const [paint, width] = [paintFor(process.stdout), paperWidth()]
  const lines = tableLines(
    [
      { title: 'id', text: (row) => row.id },
      { title: 'failure mode', text: (row) => row.name },
      { title: 'story', text: told, colour: () => 'dim' },
    ],
    rows,
    { paint },
  )
  const longest =
    Math.max(...rows.map((row) => told(row).length)) + Math.max(...rows.map((row) => row.name.length)) + 10
  if (longest <= width) for (const line of lines) console.log(line)
  else
    for (const row of rows) {
      console.log(`${row.id}  ${row.name}`)
      for (const line of wrapped(told(row), width - 8)) console.log(paint('dim', `        ${line}`))
    }
}

/** A terminal has an edge; a file has none. */
function paperWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY
}

function waiting({ id, name, story, waitsFor }: WaitingRow) {
  return { id, name, story, waits_for: waitsFor }
}

async function playOrExplain(id: string, options: LabOptions): Promise<void> {
  const row = waitingRows().find((each) => each.id === failureModeId(id))
  if (!row) return playOne(await findBundle(id), options)
  if (options.json) return console.log(JSON.stringify(waiting(row)))
  console.log(paintFor(process.stdout)('bold', `${row.id}  ${row.name}`))
  for (const line of wrapped(row.story, paperWidth())) console.log(line)
  console.log(`\n  waits for ${row.waitsFor}: there is nothing to play yet`)
}

async function playOne(bundle: Bundle, options: LabOptions): Promise<void> {
  const { naive, guarded, recoveries } = await withServer(options, async ({ url }) => {
    const played = await playBoth(bundle, url)
    if (!options.json)
      for (const line of timelineLines(bundle, played.naive, played.guarded, {
        paint: paintFor(process.stdout),
        width: paperWidth(),
      }))
        console.log(line)
    return { ...played, ...(await playRecoveries(bundle, url)) }
  })
  const verdict = verdictOf(bundle, naive, guarded, recoveries)
  if (options.json) console.log(JSON.stringify({ ...verdict, plays: { naive, guarded }, recoveries }))
  else {
    console.log(
      `  crashes: killed at ${recoveries.points} points, ${recoveries.broken.length === 0 ? 'recovered from all' : 'not recovered:'}`,
    )
    for (const broken of recoveries.broken) console.log(`    ${broken}`)
  }
  if (!earnsItsPlace(verdict)) process.exitCode = 1
}

async function playAll(options: LabOptions): Promise<void> {
  const verdicts: Verdict[] = []
  await withServer(options, async ({ url }) => {
    for (const bundle of await listBundles()) {
      const verdict = await judge(bundle, url)
      verdicts.push(verdict)
      if (!options.json)
        console.log(
          `${verdict.id}  ${earnsItsPlace(verdict) ? 'ok ' : 'NOT'}  ${verdict.name}: ${outcomeText(verdict)}`,
        )
    }
  })
  const waits = waitingRows()
  if (options.json) {
    const rows = [...verdicts, ...waits.map(({ id, name, waitsFor }) => ({ id, name, waits_for: waitsFor }))]
    console.log(JSON.stringify(rows.sort((one, other) => (one.id < other.id ? -1 : 1))))
  } else for (const { id, name, waitsFor } of waits) console.log(`${id}  –    ${name}: waits for ${waitsFor}`)
  if (!verdicts.every(earnsItsPlace)) process.exitCode = 1
}

function outcomeText({ baseline, guarded, recovered }: Verdict): string {
  return `${baseline} without the guard, ${guarded} with it, ${recovered ? 'recovered from every crash' : 'NOT recovered'}`
}

function earnsItsPlace({ baseline, guarded, recovered }: Verdict): boolean {
  return baseline === 'violated' && guarded === 'held' && recovered
}
