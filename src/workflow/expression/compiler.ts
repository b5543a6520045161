import type { Json } from '../../job/json.js'
import { limits } from '../../limits.js'
import { functionsByName } from '../functions.js'
import { Call, type LibraryFunction } from '../functions/library-function.js'
import { type Access, memberIfThere, missing } from './access.js'
import { checkCount } from './argument-count.js'
import { ending, isEnding } from './ending.js'
import { Evaluation } from './evaluation.js'
import { type Form, forms } from './forms.js'
import { type Operator, operators } from './operators.js'
import type { Place } from './place.js'
import type { Compiling, Locals, Path, Run } from './run.js'
import type { Hole } from './scanner.js'
import type { ScopeName } from './scope.js'
import { type Node, placeIn, tooDeep } from './syntax.js'
import { isValueName, unknownFunction, unknownName } from './unknown.js'
import { kindOf, put } from './values.js'

type NodeOf<Operation extends Node['op']> = Extract<Node, { op: Operation }>

/** What these cost more than another part of an expression. */
const stepsOfCall = 6
const stepsOfMember = 3

/** Checks the names and functions of one expression, and makes closures of its parts. */
export class Compiler implements Compiling {
  readonly #hole: Hole
  readonly #names: readonly ScopeName[]
  #depth = 0
  parts = 0
  readonly taskNames = new Set<string>()
  usesAllTasks = false
  usesResult = false

  constructor(hole: Hole, names: readonly ScopeName[]) {
    this.#hole = hole
    this.#names = names
  }

  place({ start, end }: { readonly start: number; readonly end: number }): Place {
    return placeIn(this.#hole, start, end)
  }

  compile(node: Node, locals: Locals): Run {
    if (++this.#depth > limits.expressionDepthMax) throw tooDeep(this.place(node))
    this.parts++
    const run = this.#part(node, locals)
    this.#depth--
    return run
  }

  #part(node: Node, locals: Locals): Run {
    switch (node.op) {
      case 'value': {
        const value = this.#literal(node)
        return () => value
      }
      case 'id':
        if (node.args === 'tasks' && !locals.includes('tasks')) this.usesAllTasks = true
        return this.#name(node, locals)
      case '.':
      case '[]':
        return this.#member(node, locals)
      case 'call':
        return this.#call(node, node.args[0], node.args[1], this.#nameInCall(node), locals)
      case 'rcall':
        return this.#call(node, node.args[0], [node.args[1], ...node.args[2]], this.#nameInCall(node), locals)
      case 'list':
        return this.#list(node, locals)
      case 'map':
        return this.#object(node, locals)
      case '?:':
        return this.#choice(node, locals)
      case '||':
      case '&&':
        return this.#logical(node, locals)
      case '!_':
        return this.#not(node, locals)
      case '-_':
        return this.#minus(node, locals)
      case '.?':
      case '[?]':
        throw this.place(node).error('there are no optional values here', 'Write default(x.y, other).')
      default: {
        const operator: Operator = operators[node.op]
        const [left, right] = node.args.map((side) => this.compile(side, locals)) as [Run, Run]
        const place = this.place(node)
        return (evaluation) => operator(left(evaluation), right(evaluation), evaluation, place)
      }
    }
  }

  #literal(node: NodeOf<'value'>): Json {
    const { args: value } = node
    if (value === null || typeof value !== 'object') {
      if (typeof value !== 'bigint') return value
      if (value <= Number.MAX_SAFE_INTEGER) return Number(value)
      throw this.place(node).error('the whole number is too large to be exact', 'Write it as a string.')
    }
    if (value instanceof Uint8Array) throw this.place(node).error('there are no bytes in JSON', 'Write it without b.')
    throw this.place(node).error('there is one kind of number here', 'Write it without u.')
  }

  #name(node: NodeOf<'id'>, locals: Locals): Run {
    const { args: name } = node
    const slot = locals.lastIndexOf(name)
    if (slot >= 0) return ({ locals: values }) => values[slot] as Json
    if (!isValueName(name) || !this.#names.includes(name)) {
      throw unknownName(name, this.place(node), this.#names, locals)
    }
    return ({ scope }) => scope[name] ?? null
  }

  #member(node: NodeOf<'.'> | NodeOf<'[]'>, locals: Locals): Run {
    const { start, key, literalKey } = this.#step(node, locals)
    const access: Access = {
      container: this.place(node.args[0]),
      key: node.op === '.' ? this.place({ start: node.pos, end: node.end }) : this.place(node.args[1]),
      literal: literalKey !== undefined,
    }
    if (literalKey !== undefined) {
      return (evaluation) => {
        const container = start(evaluation)
        const value = memberIfThere(container, literalKey)
        if (value === undefined) throw missing(container, literalKey, access)
        return value
      }
    }
    return (evaluation) => {
      const container = start(evaluation)
      const name = key(evaluation)
      const value = memberIfThere(container, name)
      if (value === undefined) throw missing(container, name, access)
      return value
    }
  }

  /** One step of a path, and what it starts from. Takes down which task it reads. */
  #step(node: NodeOf<'.'> | NodeOf<'[]'>, locals: Locals): { start: Run; key: Run; literalKey: Json | undefined } {
    const [container, member] = node.args
    const literalKey = typeof member === 'string' ? member : member.op === 'value' ? this.#literal(member) : undefined
    const key = typeof member === 'string' ? () => member : this.compile(member, locals)
    if (container.op === 'id' && container.args === 'tasks' && !locals.includes('tasks')) {
      if (typeof literalKey === 'string') this.taskNames.add(literalKey)
      else this.usesAllTasks = true
      return { start: this.#name(container, locals), key, literalKey }
    }
    return { start: this.compile(container, locals), key, literalKey }
  }

  path(node: Node, locals: Locals): Path | undefined {
    if (node.op !== '.' && node.op !== '[]') return undefined
    const [container] = node.args
    if (container.op !== '.' && container.op !== '[]') {
      const { start, key } = this.#step(node, locals)
      return { start, steps: [key] }
    }
    if (++this.#depth > limits.expressionDepthMax) throw tooDeep(this.place(node))
    this.parts++
    const before = this.path(container, locals) as Path
    const member = node.args[1]
    const key = typeof member === 'string' ? () => member : this.compile(member, locals)
    this.#depth--
    return { start: before.start, steps: [...before.steps, key] }
  }

  #nameInCall(node: NodeOf<'call'> | NodeOf<'rcall'>): Place {
    const [name] = node.args
    const start = node.op === 'call' ? node.start : this.#hole.text.indexOf(name, node.args[1].end)
    return this.place({ start, end: start + name.length })
  }

  #call(node: Node, name: string, nodes: readonly Node[], namePlace: Place, locals: Locals): Run {
    const place = this.place(node)
    if (this.#names.includes('ending') && isEnding(name)) {
      checkCount({ signature: `${name}()`, argumentsMin: 0, argumentsMax: 0 }, nodes.length, node.op === 'rcall', place)
      if (name === 'result') this.usesResult = true
      return ending(name, place)
    }
    const found: Form | LibraryFunction | undefined = forms.get(name) ?? functionsByName.get(name)
    if (!found) throw unknownFunction(name, namePlace, this.#names, locals)
    checkCount(found, nodes.length, node.op === 'rcall', place)
    if ('compile' in found) return found.compile(this, nodes, locals, place)
    this.parts += stepsOfCall
    const places = nodes.map((each) => this.place(each))
    const runs = nodes.map((each) => this.compile(each, locals))
    this.#checkLiterals(found, nodes, place, places)
    return (evaluation) =>
      found.run(
        new Call(name, place, places, evaluation),
        runs.map((run) => run(evaluation)),
      )
  }

  /** What is plainly wrong is found before it is ever run: size(3), or a pattern that is none. */
  #checkLiterals(found: LibraryFunction, nodes: readonly Node[], place: Place, places: readonly Place[]): void {
    const call = new Call(found.name, place, places, new Evaluation({}))
    for (const [i, node] of nodes.entries()) if (node.op === 'value') found.check(this.#literal(node), call, i)
  }

  #list(node: NodeOf<'list'>, locals: Locals): Run {
    const runs = node.args.map((item) => this.compile(item, locals))
    return (evaluation) => runs.map((run) => run(evaluation))
  }

  #object(node: NodeOf<'map'>, locals: Locals): Run {
    this.parts += node.args.length * stepsOfMember
    const members = node.args.map(([keyNode, valueNode]) => ({
      key: this.compile(keyNode, locals),
      keyPlace: this.place(keyNode),
      value: this.compile(valueNode, locals),
    }))
    return (evaluation) => {
      const made: Record<string, Json> = {}
      for (const { key: keyRun, keyPlace, value } of members) {
        const key = keyRun(evaluation)
        if (typeof key !== 'string') throw keyPlace.error(`a key of an object is a string, not ${kindOf(key)}`)
        if (Object.hasOwn(made, key)) throw keyPlace.error('the object has this key already')
        put(made, key, value(evaluation))
      }
      return made
    }
  }

  #choice(node: NodeOf<'?:'>, locals: Locals): Run {
    const [condition, yes, no] = node.args.map((part) => this.compile(part, locals)) as [Run, Run, Run]
    const place = this.place(node.args[0])
    return (evaluation) =>
      asBoolean(condition(evaluation), place, 'the condition before ?') ? yes(evaluation) : no(evaluation)
  }

  /** From left to right, and the right side only if it matters. Unlike in CEL, an error on the left stays an error. */
  #logical(node: NodeOf<'||'> | NodeOf<'&&'>, locals: Locals): Run {
    const [left, right] = node.args.map((side) => this.compile(side, locals)) as [Run, Run]
    const [leftPlace, rightPlace] = node.args.map((side) => this.place(side)) as [Place, Place]
    const what = `a side of ${node.op}`
    const decides = node.op === '||'
    return (evaluation) =>
      asBoolean(left(evaluation), leftPlace, what) === decides
        ? decides
        : asBoolean(right(evaluation), rightPlace, what)
  }

  #not(node: NodeOf<'!_'>, locals: Locals): Run {
    const run = this.compile(node.args, locals)
    const place = this.place(node.args)
    return (evaluation) => !asBoolean(run(evaluation), place, 'what stands behind !')
  }

  #minus(node: NodeOf<'-_'>, locals: Locals): Run {
    const run = this.compile(node.args, locals)
    const place = this.place(node)
    return (evaluation) => operators['-'](0, run(evaluation), evaluation, place)
  }
}

function asBoolean(value: Json, place: Place, what: string): boolean {
  if (typeof value === 'boolean') return value
  throw place.error(`${what} must be true or false, not ${kindOf(value)}`)
}
