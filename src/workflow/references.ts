import { scan } from './expression/scanner.js'
import { type Node, parse, placeIn } from './expression/syntax.js'

/** A name of the run that an expression reads, such as `tasks.build.result`, and where in the text it does. */
export interface Reference {
  readonly root: string
  /** The members that follow, as far as they are written out; what comes after `[expression]` is not known. */
  readonly members: readonly Member[]
  readonly offset: number
  readonly length: number
}

export interface Member {
  readonly name: string
  readonly offset: number
  readonly length: number
}

/** Functions whose second argument is the name of a variable of their own. */
const loops = new Set(['map', 'filter', 'all', 'exists', 'exists_one', 'sortBy'])

/** All that the expressions in a text refer to. The text must be one that compiles. */
export function referencesIn(text: string): readonly Reference[] {
  const found: Reference[] = []
  for (const hole of scan(text)) {
    if (typeof hole === 'string') continue
    const at = (start: number, end: number) => {
      const { offset, length } = placeIn(hole, start, end)
      return { offset, length }
    }
    visit(parse(hole), new Set(), (node, chain) => {
      const members = chain.map(([name, start, end]) => ({ name, ...at(start, end) }))
      found.push({ root: node.args as string, members, ...at(node.start, node.end) })
    })
  }
  return found
}

/** Members from the outermost name on, with their start and end. */
type Chain = readonly (readonly [name: string, start: number, end: number])[]
type Found = (node: Node, chain: Chain) => void

function visit(node: Node, locals: ReadonlySet<string>, found: Found): void {
  const chain: (readonly [string, number, number])[] = []
  let inner = node
  for (let member = memberOf(inner); member !== undefined; member = memberOf(inner)) {
    chain.unshift(member.step)
    inner = member.of
  }
  if (inner.op === 'id') {
    if (!locals.has(inner.args)) found(inner, chain)
  } else visitParts(inner, locals, found)
}

function visitParts(node: Node, locals: ReadonlySet<string>, found: Found): void {
  if (node.op === 'call' || node.op === 'rcall') {
    const parts = node.op === 'call' ? node.args[1] : [node.args[1], ...node.args[2]]
    const variable = loops.has(node.args[0]) ? parts[1] : undefined
    const inside = variable?.op === 'id' ? new Set([...locals, variable.args]) : locals
    parts.forEach((part, i) => {
      if (part !== variable) visit(part, i === 0 ? locals : inside, found)
    })
    return
  }
  for (const part of partsOf(node.args)) visit(part, locals, found)
}

/** `x.name` and `x['name']`. */
function memberOf(node: Node): { readonly of: Node; readonly step: readonly [string, number, number] } | undefined {
  if (node.op === '.') {
    const [of, name] = node.args
    return { of, step: [name, node.end - name.length, node.end] }
  }
  if (node.op === '[]') {
    const [of, key] = node.args
    if (key.op === 'value' && typeof key.args === 'string') return { of, step: [key.args, key.start, key.end] }
  }
  return undefined
}

function partsOf(args: unknown): Node[] {
  if (Array.isArray(args)) return args.flatMap(partsOf)
  return typeof args === 'object' && args !== null && 'op' in args ? [args as Node] : []
}
