import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ServerProxy } from '../harness/server-proxy.js'
import type { ChildOptions, WorkerWord } from './child.js'
import { allSlots, slots as slotNames } from './faults.js'
import type { Journal } from './journal.js'

/** One process at a time, and the proxy through which it speaks to the database. */
interface Slot {
  readonly name: string
  readonly proxy: ServerProxy
  process: ChildProcess | undefined
  isStopped: boolean
  isEnding: boolean
  /** It works, and so many of its handlers take long. */
  slow: number | undefined
}

/** What is the same for all processes. */
export type FleetOptions = Omit<ChildOptions, 'slot' | 'url' | 'journal'>

const endMsMax = 60_000

/** By name: all of its kind. */
const slotsWithWorker: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  [slotNames.worker, slotNames.carrier].flatMap((alike) => alike.map((name) => [name, alike])),
)

/** The processes of the torture. One that is killed is started again. */
export class Fleet {
  readonly #slots: ReadonlyMap<string, Slot>
  readonly #options: FleetOptions
  readonly #directory: string
  readonly #journal: Journal
  /** Processes that ended in a way that nobody asked for. */
  readonly accidents: string[] = []
  /** Workers and servers that end are started again. */
  #isRefilled = true

  private constructor(slots: ReadonlyMap<string, Slot>, directory: string, journal: Journal, options: FleetOptions) {
    this.#slots = slots
    this.#directory = directory
    this.#journal = journal
    this.#options = options
  }

  static async start(serverUrl: string, directory: string, journal: Journal, options: FleetOptions): Promise<Fleet> {
    const slots = await Promise.all(
      allSlots.map(async (name): Promise<[string, Slot]> => {
        const proxy = await ServerProxy.start(serverUrl)
        return [name, { name, proxy, process: undefined, isStopped: false, isEnding: false, slow: undefined }]
      }),
    )
    return new Fleet(new Map(slots), directory, journal, options)
  }

  proxy(name: string): ServerProxy {
    return this.#slot(name).proxy
  }

  pid(name: string): number | undefined {
    return this.#slot(name).process?.pid
  }

  journalPath(name: string): string {
    return join(this.#directory, `${name}.jsonl`)
  }

  spawn(name: string): ChildProcess {
    const slot = this.#slot(name)
    const [kind] = name.split('-')
    const options: ChildOptions = { ...this.#options, slot: name, url: slot.proxy.url, journal: this.journalPath(name) }
    const child = fork(join(import.meta.dirname, `${kind}-process.js`), [JSON.stringify(options)], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    slot.process = child
    slot.isStopped = false
    slot.isEnding = false
    slot.slow = undefined
    child.on('message', (word: WorkerWord) => (slot.slow = word.slow))
    let said = ''
    child.stderr?.on('data', (data: Buffer) => (said = (said + data.toString()).slice(-2_000)))
    child.once('close', (code, signal) => {
      if (slot.process === child) slot.process = undefined
      // SIGTERM ends one that has not begun to listen for it.
      const wasAsked = signal === 'SIGKILL' || signal === 'SIGTERM'
      if (!wasAsked && code !== 0) this.accidents.push(`${name} ended with ${code ?? signal}: ${said.trim()}`)
      const isDone = code === 0 && !this.hasWorker(name)
      if (this.#isRefilled && !isDone) this.spawn(name)
    })
    return child
  }

  /** Whether handlers run there. */
  hasWorker(name: string): boolean {
    return name in slotsWithWorker
  }

  /** The worker in this slot, or the next one of its kind, that works and is not about to end; with a handler that takes long, if asked. */
  working(name: string, withHandler = false): string | undefined {
    const alike = slotsWithWorker[name] ?? []
    const from = alike.indexOf(name)
    const inOrder = [...alike.slice(from), ...alike.slice(0, from)]
    return inOrder.find((each) => {
      const { slow, isStopped, isEnding } = this.#slot(each)
      return slow !== undefined && slow >= Number(withHandler) && !isStopped && !isEnding
    })
  }

  /** Whether there was one to be killed. */
  kill(name: string): boolean {
    const { process: child } = this.#slot(name)
    if (!child?.pid) return false
    this.#journal.write('kill', child.pid)
    return child.kill('SIGKILL')
  }

  /** SIGTERM; one that does not end is killed, and told of. */
  term(name: string): boolean {
    const slot = this.#slot(name)
    const child = slot.process
    if (!child?.pid || slot.isEnding || slot.isStopped) return false
    slot.isEnding = true
    this.#journal.write('term', child.pid)
    const late = setTimeout(() => {
      this.accidents.push(`${name} was told to stop, and had not after ${endMsMax / 1_000} s`)
      child.kill('SIGKILL')
    }, endMsMax)
    child.once('close', () => clearTimeout(late))
    return child.kill('SIGTERM')
  }

  /** SIGSTOP, and SIGCONT after a while, if it is still there. */
  stop(name: string, ms: number): boolean {
    const slot = this.#slot(name)
    const child = slot.process
    if (!child?.pid || slot.isStopped || slot.isEnding) return false
    const { pid } = child
    slot.isStopped = true
    child.kill('SIGSTOP')
    this.#journal.write('stop', pid)
    setTimeout(() => {
      if (slot.process !== child) return
      this.#journal.write('cont', pid)
      child.kill('SIGCONT')
      slot.isStopped = false
    }, ms)
    return true
  }

  /** Waits for these to end by themselves, after SIGTERM. */
  async end(names: readonly string[]): Promise<void> {
    this.#isRefilled = false
    await Promise.all(
      names.map(async (name) => {
        const slot = this.#slot(name)
        const child = slot.process
        if (!child || child.exitCode !== null) return
        const ended = once(child, 'close')
        if (slot.isStopped) child.kill('SIGCONT')
        slot.isStopped = false
        this.term(name)
        await ended
      }),
    )
    this.#isRefilled = true
  }

  /** At once, whatever they are at. */
  async close(): Promise<void> {
    this.#isRefilled = false
    const ends = [...this.#slots.values()].map(async ({ process: child, proxy }) => {
      if (child && child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'close')
        child.kill('SIGKILL')
        await ended
      }
      await proxy.stop()
    })
    await Promise.all(ends)
  }

  #slot(name: string): Slot {
    return this.#slots.get(name) as Slot
  }
}
