import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Figure } from './bench-measures.js'

export interface KeptRun {
  readonly server: string
  readonly postgres: string
  readonly node: string
  readonly jobs: number
  readonly at: Date
  readonly figures: readonly Figure[]
}

const directory = () => join(process.cwd(), '.fencepost')
const path = () => join(directory(), 'bench.json')

/** The last one on the same server with as many jobs: any other would be compared with something else. */
export async function lastRun({ server, jobs }: KeptRun): Promise<KeptRun | undefined> {
  return (await keptRuns()).find((run) => run.server === server && run.jobs === jobs)
}

/** The newest first; of one server and number of jobs, only that. */
export async function keepRun(run: KeptRun): Promise<void> {
  const others = (await keptRuns()).filter(({ server, jobs }) => server !== run.server || jobs !== run.jobs)
  await mkdir(directory(), { recursive: true })
  await writeFile(join(directory(), '.gitignore'), '*\n') // as the embedded server does, which may not be used
  await writeFile(path(), `${JSON.stringify([run, ...others].slice(0, 100), null, 2)}\n`)
}

/** A file that is not there, or not ours, is a history without a run. */
async function keptRuns(): Promise<KeptRun[]> {
  try {
    const kept = JSON.parse(await readFile(path(), 'utf8')) as KeptRun[]
    return kept.map((run) => ({ ...run, at: new Date(run.at) }))
  } catch {
    return []
  }
}
