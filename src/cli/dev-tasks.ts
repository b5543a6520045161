import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Command } from 'commander'
import { joinEmbeddedServer } from '../embedded/embedded-server.js'
import { devGrace, DevWorker } from './dev-worker.js'
import { FileWatcher } from './file-watcher.js'
import type { GlobalOptions } from './global-options.js'
import { logOutput } from './log-output.js'

/** Runs the tasks in a worker, and in a new one whenever a file of theirs has changed. */
export async function devTasks(paths: readonly string[], command: Command, signal: AbortSignal): Promise<void> {
  const { json = false } = command.optsWithGlobals<GlobalOptions>()
  const log = logOutput({ json, level: 'info' })
  const watcher = new FileWatcher()
  const server = new KeptServer()
  try {
    watchRoots(watcher, paths)
    while (!signal.aborted) {
      const startedAtMs = Date.now()
      const worker = new DevWorker(workerArgs(paths, command), ({ files, directories, embedded }) => {
        watcher.addFiles(files, startedAtMs)
        for (const directory of directories) watcher.addTree(directory, startedAtMs)
        if (embedded) server.keep()
      })
      let stopping = false
      void worker.ended.then((how) => {
        if (!stopping) log.error({}, `the worker has ended (${how}); save a file to start it again`)
      })
      const changed = await watcher.nextChange(signal)
      stopping = true
      if (changed.length > 0) log.info({ changed }, `${changedText(changed)}: reloading`)
      await worker.stop()
    }
  } finally {
    watcher.close()
    await server.leave()
  }
}

/** Before the first worker has told what it loads, and also if it cannot. */
function watchRoots(watcher: FileWatcher, paths: readonly string[]): void {
  for (const path of paths) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) watcher.addTree(path, Date.now())
    else watcher.addFiles([path], Date.now())
  }
}

function workerArgs(paths: readonly string[], command: Command): string[] {
  const { database, schema, json } = command.optsWithGlobals<GlobalOptions>()
  const schemaSaid = command.getOptionValueSourceWithGlobals('schema') !== 'default'
  return [
    ...paths,
    '--migrate',
    '--dev-sqs',
    `--grace=${devGrace}`,
    ...(database === undefined ? [] : ['--database', database]),
    ...(schemaSaid ? ['--schema', schema] : []),
    ...(json ? ['--json'] : []),
  ]
}

function changedText(files: readonly string[]): string {
  const [first, ...others] = files.map((file) => relative(process.cwd(), file))
  return others.length === 0 ? `${first} changed` : `${first} and ${others.length} more changed`
}

/** The embedded server ends with its last process: without us it would start anew with every reload. */
class KeptServer {
  #joined: ReturnType<typeof joinEmbeddedServer> | undefined

  keep(): void {
    this.#joined ??= joinEmbeddedServer({ directory: join(process.cwd(), '.fencepost') })
    this.#joined.catch(() => {}) // then it starts anew with every reload
  }

  async leave(): Promise<void> {
    const server = await this.#joined?.catch(() => undefined)
    await server?.leave()
  }
}
