import { once } from 'node:events'
import { type Dirent, type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { isModule } from './task-files.js'

/** An editor saves in several steps, and a `git checkout` many files: one change is told for all of them. */
const quietMs = 100
/**
 * Events are the quick way to hear of a change, not the sure one: there are none after a directory was removed and made
 * again, where the system has no watches left, or on a file system that is shared with another machine.
 */
const sweepMs = 1_000

/** Tells when one of the files that make up the tasks has changed. */
export class FileWatcher {
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #trees = new Set<string>()
  /** What each file was when it was last looked at: an event alone is no change. */
  readonly #seen = new Map<string, string>()
  readonly #changing = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #sweeper = setInterval(() => this.#sweep(), sweepMs)
  #timer: NodeJS.Timeout | undefined
  #onChange: (() => void) | undefined

  /** A directory of tasks: files that come into it count, too. */
  addTree(directory: string, sinceMs: number): void {
    const tree = resolve(directory)
    if (this.#trees.has(tree)) return
    this.#trees.add(tree)
    this.#watch(tree, true)
    for (const file of modulesUnder(tree)) this.#addFile(file, sinceMs)
  }

  /** What has changed since that moment, on the clock of the files, is a change already. */
  addFiles(files: readonly string[], sinceMs: number): void {
    for (const file of files.map((each) => resolve(each))) {
      // The directory, because saving a file often puts a new one in its place.
      this.#watch(dirname(file), false)
      this.#addFile(file, sinceMs)
    }
  }

  /** The files that have changed, as soon as some have; none if the signal comes first. */
  async nextChange(signal: AbortSignal): Promise<string[]> {
    if (!signal.aborted && this.#changed.size === 0) {
      const told = new AbortController()
      this.#onChange = () => told.abort()
      await once(AbortSignal.any([signal, told.signal]), 'abort')
    }
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  close(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#sweeper)
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  /** When it is watched already: otherwise a save between the look and the watch would be missed. */
  #addFile(file: string, sinceMs: number): void {
    if (this.#seen.has(file)) return
    const { text, changedAtMs } = signature(file)
    this.#seen.set(file, text)
    if (changedAtMs > sinceMs) this.#tell(file)
  }

  #watch(directory: string, recursive: boolean): void {
    const key = `${directory}${recursive ? '/**' : ''}`
    if (this.#watchers.has(key)) return
    try {
      const watcher = watch(directory, { recursive }, (_, name) => name !== null && this.#look(join(directory, name)))
      watcher.on('error', () => this.#watchers.delete(key)) // the directory has gone
      this.#watchers.set(key, watcher)
    } catch {
      // It has gone meanwhile, or there are no watches left: the sweep will tell.
    }
  }

  #sweep(): void {
    for (const file of this.#seen.keys()) this.#look(file)
    for (const tree of this.#trees) for (const file of modulesUnder(tree)) this.#look(file)
  }

  #look(file: string): void {
    const inTree = isModule(file) && [...this.#trees].some((tree) => file.startsWith(tree + sep))
    if (!inTree && !this.#seen.has(file)) return
    const { text } = signature(file)
    if (this.#seen.get(file) === text) return
    this.#seen.set(file, text)
    this.#tell(file)
  }

  #tell(file: string): void {
    this.#changing.add(file)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      for (const each of this.#changing) this.#changed.add(each)
      this.#changing.clear()
      this.#onChange?.()
    }, quietMs)
  }
}

function signature(file: string): { text: string; changedAtMs: number } {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found) return { text: 'gone', changedAtMs: 0 }
  // A file that is moved here, or copied with its times, keeps its mtime, but not its ctime.
  return { text: `${found.mtimeMs}/${found.size}/${found.ino}`, changedAtMs: found.ctimeMs }
}

function* modulesUnder(directory: string): Generator<string> {
  for (const entry of entriesOf(directory)) {
    if (/^\.|^node_modules$/.test(entry.name)) continue
    const path = join(directory, entry.name)
    if (entry.isDirectory()) yield* modulesUnder(path)
    else if (isModule(path)) yield path
  }
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return [] // it has gone
  }
}
