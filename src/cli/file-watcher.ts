import { once } from 'node:events'
import { type FSWatcher, statSync, watch } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { isModule } from './task-files.js'

/** An editor saves in several steps, and a `git checkout` many files: one change is told for all of them. */
const quietMs = 100

/** Tells when one of the files that make up the tasks has changed. */
export class FileWatcher {
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #trees = new Set<string>()
  /** What each file was when it was last looked at: an event alone is no change. */
  readonly #seen = new Map<string, string>()
  readonly #changing = new Set<string>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #onChange: (() => void) | undefined

  /** A directory of tasks: files that come into it count, too. */
  addTree(directory: string): void {
    const tree = resolve(directory)
    this.#trees.add(tree)
    this.#watch(tree, true)
  }

  /** What has changed since that moment, on the clock of the files, is a change already. */
  addFiles(files: readonly string[], sinceMs: number): void {
    for (const file of files.map((each) => resolve(each))) {
      const isNew = !this.#seen.has(file)
      const { text, mtimeMs } = signature(file)
      if (isNew) this.#seen.set(file, text)
      // The directory, because saving a file often puts a new one in its place.
      this.#watch(dirname(file), false)
      if (isNew && mtimeMs > sinceMs) this.#tell(file)
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
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  #watch(directory: string, recursive: boolean): void {
    const key = `${directory}${recursive ? '/**' : ''}`
    if (this.#watchers.has(key)) return
    try {
      const watcher = watch(directory, { recursive }, (_, name) => name !== null && this.#look(join(directory, name)))
      watcher.on('error', () => this.#watchers.delete(key)) // the directory has gone
      this.#watchers.set(key, watcher)
    } catch {
      // It has gone meanwhile; so has what was in it, and the worker will say so.
    }
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

function signature(file: string): { text: string; mtimeMs: number } {
  const found = statSync(file, { throwIfNoEntry: false })
  return found
    ? { text: `${found.mtimeMs}/${found.size}/${found.ino}`, mtimeMs: found.mtimeMs }
    : { text: 'gone', mtimeMs: 0 }
}
