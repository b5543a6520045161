// A process of a play, as its parent sees it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Long enough for a machine that has much else to do. */
const answerMsMax = 60_000

export class Actor {
  #calls = new Map()
  #next = 0
  onSetting = () => {}

  constructor(name, scene) {
    this.name = name
    this.process = fork(join(import.meta.dirname, 'actor-process.js'), [JSON.stringify({ name, ...scene })], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.errors = ''
    this.process.stderr.on('data', (text) => (this.errors = `${this.errors}${text}`.slice(-4_000)))
    this.process.on('message', (message) => this.#hear(message))
    this.process.on('exit', (code, signal) => {
      for (const { reject } of this.#calls.values())
        reject(new Error(`${name} ended (${signal ?? code}): ${this.errors}`))
      this.#calls.clear()
    })
  }

  #hear({ setting, id, answer, error }) {
    if (setting !== undefined) return this.onSetting(setting)
    const waiting = this.#calls.get(id)
    this.#calls.delete(id)
    if (error === undefined) waiting?.resolve(answer)
    else waiting?.reject(Object.assign(new Error(`${this.name}: ${error}`), { said: error }))
  }

  /** One of the verbs of the peer's adapter. */
  call(verb, ...values) {
    const id = this.#next++
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${this.name} gave no answer to ${verb}`)), answerMsMax)
      const settled = (settle) => (value) => {
        clearTimeout(late)
        settle(value)
      }
      this.#calls.set(id, { resolve: settled(resolve), reject: settled(reject) })
      if (this.process.connected) this.process.send({ id, verb, values })
      else reject(new Error(`${this.name} has ended: ${this.errors}`))
    })
  }

  stop() {
    this.process.kill('SIGSTOP')
  }

  goOn() {
    this.process.kill('SIGCONT')
  }

  terminate() {
    this.process.kill('SIGTERM')
  }

  async kill() {
    if (this.ended()) return
    const exit = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await exit
  }

  ended() {
    return this.process.exitCode !== null || this.process.signalCode !== null
  }
}
