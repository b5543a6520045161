import type { Events } from '../events.js'
import type { Gate, Group, StoredGate } from '../task/gate.js'

/** Keys may be as many as there are tenants: the ones seen first are forgotten. */
const keysMax = 10_000

interface Declared {
  readonly task: string
  readonly limit: number
}

/** Tells, once for each key and process, that two tasks declare different limits for it. */
export class GateDisputes {
  readonly #events: Events
  readonly #declared = new Map<string, Declared>()
  readonly #told = new Map<string, true>()

  constructor(events: Events) {
    this.#events = events
  }

  /** What a job's gates say. */
  hear(task: string, { key, limit }: StoredGate): void {
    if (limit === undefined) return
    const known = this.#declared.get(key)
    if (!known) return remember(this.#declared, key, { task, limit })
    if (known.task === task || known.limit === limit || this.#told.has(key)) return
    remember(this.#told, key, true)
    this.#events.emit('gate_disputed', { key, tasks: [known.task, task], limits: [known.limit, limit] })
  }

  /** What a task says before it has a job: only keys that do not depend on the input are known. */
  hearTask({ name, gates, group }: { name: string; gates: readonly Gate[]; group: Group | undefined }): void {
    for (const { kind, key, limit, onFull } of gates) {
      if (typeof key === 'string') this.hear(name, { key: `${kind}:${key}`, limit, onFull })
    }
    if (typeof group?.id === 'string' && typeof group.limit === 'number') {
      this.hear(name, { key: `group:${group.id}`, limit: group.limit, onFull: 'wait' })
    }
  }
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= keysMax) map.delete(map.keys().next().value as string)
  map.set(key, value)
}
