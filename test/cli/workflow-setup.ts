import { onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { fencepost, task } from '../../src/index.js'
import { setup } from '../harness/setup.js'
import { cli, cliJson, type CliOptions, type CliResult } from './cli-process.js'
import { type Files, project } from './project.js'

/** A database, a project with these files, and a worker in this process for the tasks that the workflows use. */
export async function setupWorkflows(files: Files = {}, { withWorker = true }: { withWorker?: boolean } = {}) {
  const bundle = await setup()
  const { url } = bundle
  const { directory, write } = await project(files)
  const held: (() => void)[] = []
  const isHeld: (() => void)[] = []
  const tasks = [
    task('echo', { input: z.any(), run: (input: unknown) => input }),
    task('fail', {
      input: z.any(),
      retry: { limit: 0 },
      run: (input: { message?: string } | null) => {
        throw Object.assign(new Error(input?.message ?? 'no luck'), { code: 'LUCK' })
      },
    }),
    task('hold', {
      input: z.any(),
      run: (_: unknown, job) =>
        new Promise<string>((resolve, reject) => {
          held.push(() => resolve('released'))
          job.signal.addEventListener('abort', () => reject(new Error('stopped')))
          for (const seen of isHeld.splice(0)) seen()
        }),
    }),
  ]
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  if (withWorker) await fp.work(tasks, { poll: '20ms' })
  const options = { url, cwd: directory }
  return {
    ...bundle,
    fp,
    tasks,
    write,
    /** `fencepost workflow …`, in the project. */
    workflow: (args: readonly string[], more: CliOptions = {}): Promise<CliResult> =>
      cli(['workflow', ...args], { ...options, ...more }),
    workflowJson: <Answer>(args: readonly string[]): Promise<Answer> => cliJson<Answer>(['workflow', ...args], options),
    options,
    /** Starts a run of a file; answers its id. */
    async start(file: string, ...args: string[]): Promise<string> {
      return (await cliJson<{ id: string }>(['workflow', 'run', file, ...args], options)).id
    },
    /** Waits until the run ends, or is as asked. */
    async until(
      id: string,
      isSo: (run: Awaited<ReturnType<typeof fp.workflows.run>>) => boolean = (run) => run.endedAt !== null,
    ) {
      const asked = async () => {
        const run = await fp.workflows.run(id)
        return isSo(run) && run
      }
      return vi.waitUntil(asked, { timeout: 60_000, interval: 20 })
    },
    /** Waits until one more job of the task `hold` runs. */
    held: () => (held.length > 0 ? Promise.resolve() : new Promise<void>((resolve) => isHeld.push(resolve))),
    release: () => {
      for (const letGo of held.splice(0)) letGo()
    },
  }
}
