import type { Json } from '../job/json.js'
import { isInline, isRun } from './built-in-actions.js'
import type { Definition, TaskDefinition } from './definition.js'
import { hasHoles, scan } from './expression/scanner.js'
import { isList, isObject } from './expression/values.js'
import { referencesIn } from './references.js'
import type { SecretPlace } from './run.js'

/**
 * Where the secrets of a run get to, as far as its definition tells: from secret parameters and from secret fields of what is
 * asked, through vars, lists and what needs no worker, into the inputs of tasks. What a handler makes of one is its own.
 */
export class SecretFlow {
  readonly #parameters: ReadonlySet<string>
  /** Those whose result, or error, may hold one. */
  readonly #tasks: Set<string>
  readonly #vars = new Set<string>()
  readonly #places = new Map<string, readonly SecretPlace[]>()

  /** `inherited`: parameters that hold a secret of the run that this one is an item of. */
  constructor(definition: Definition, inherited: readonly string[]) {
    const declared = Object.keys(definition.parameters).filter((name) => definition.parameters[name]?.secret)
    this.#parameters = new Set([...declared, ...inherited])
    this.#tasks = new Set(definition.tasks.filter(asksForSecret).map(({ name }) => name))
    if (this.#parameters.size + this.#tasks.size === 0) return
    for (let known = -1; known !== this.#tasks.size + this.#vars.size; ) {
      known = this.#tasks.size + this.#vars.size
      this.#spread(definition)
    }
    for (const task of definition.tasks) {
      const places = this.#placesIn(task.input, this.#isOfSecrets(task), [])
      if (places.length > 0) this.#places.set(task.name, places)
    }
  }

  /** Where in the input of this task. */
  placesIn(task: string): readonly SecretPlace[] {
    return this.#places.get(task) ?? []
  }

  /** Of the run's parameters, those that are secret. */
  valuesOf(parameters: Readonly<Record<string, Json>>): Json[] {
    return Object.entries(parameters).flatMap(([name, value]) => (this.#parameters.has(name) ? [value] : []))
  }

  #spread({ vars, tasks }: Definition): void {
    for (const [name, template] of Object.entries(vars)) if (this.#isIn(template)) this.#vars.add(name)
    for (const task of tasks) {
      const { name, action, input, next } = task
      // A job's result is what its handler makes of its input, and for it to answer for.
      if ((isInline(action) || isRun(action)) && this.#isIn(input, this.#isOfSecrets(task))) this.#tasks.add(name)
      for (const [published, template] of next.flatMap(({ publish }) => Object.entries(publish))) {
        // Of result() and error it is not told here which is meant.
        if (this.#tasks.has(name) || this.#isIn(template)) this.#vars.add(published)
      }
    }
  }

  #isOfSecrets({ items }: TaskDefinition): boolean {
    return items !== null && this.#isIn(items.of)
  }

  #isIn(template: Json, item = false): boolean {
    return this.#placesIn(template, item, []).length > 0
  }

  #placesIn(template: Json, item: boolean, path: SecretPlace['path']): SecretPlace[] {
    if (typeof template === 'string') {
      return hasHoles(template) && this.#isNamedIn(template, item) ? [{ path, around: textAround(template) }] : []
    }
    if (isList(template)) return template.flatMap((each, n) => this.#placesIn(each, item, [...path, n]))
    if (!isObject(template)) return []
    return Object.entries(template).flatMap(([key, each]) => this.#placesIn(each, item, [...path, key]))
  }

  #isNamedIn(text: string, item: boolean): boolean {
    const secret: Readonly<Record<string, ReadonlySet<string>>> = {
      parameters: this.#parameters,
      tasks: this.#tasks,
      vars: this.#vars,
    }
    return referencesIn(text).some(({ root, members: [first] }) => {
      if (root === 'item') return item
      const names = Object.hasOwn(secret, root) ? secret[root] : undefined
      // Without a name that can be read, it may be any of them.
      return names !== undefined && (first ? names.has(first.name) : names.size > 0)
    })
  }
}

/** A form that is an expression may have any field. */
function asksForSecret({ action, input }: TaskDefinition): boolean {
  if (action !== 'core.ask' && action !== 'wait.approval') return false
  const form = isObject(input) ? input['form'] : null
  if (typeof form === 'string') return true
  return isObject(form ?? null) && Object.values(form as object).some((field: { secret?: boolean }) => field?.secret)
}

function textAround(template: string): string[] {
  const texts = ['']
  for (const part of scan(template)) {
    if (typeof part === 'string') texts.push(`${texts.pop()}${part}`)
    else texts.push('')
  }
  return texts
}

/** The secrets in the input of an item, found where its definition has put them. */
export function secretsIn(input: Json, places: readonly SecretPlace[]): Json[] {
  return places.flatMap(({ path, around }): Json[] => {
    const value = path.reduce<Json | undefined>(
      (inside, key) => (inside as Record<string | number, Json> | null | undefined)?.[key],
      input,
    )
    if (value === undefined) return []
    return typeof value === 'string' ? textsBetween(value, around) : [value]
  })
}

/** `Bearer hunter2` around `Bearer ` and nothing is `hunter2`. All of the text if it is not made like that. */
function textsBetween(text: string, around: readonly string[]): string[] {
  const [first = '', ...others] = around
  if (!text.startsWith(first)) return [text]
  const texts: string[] = []
  let from = first.length
  for (const [n, next] of others.entries()) {
    const isLast = n === others.length - 1
    const to = isLast ? text.length - next.length : text.indexOf(next, from)
    if (to < from || !text.startsWith(next, to)) return [text]
    texts.push(text.slice(from, to))
    from = to + next.length
  }
  return texts
}
