import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, Scalar } from 'yaml'
import { limits } from '../limits.js'
import type { Lines, Member, Place } from './file-places.js'
import type { Path, ProblemLog } from './problem.js'

export const tooLargeHint = 'Move large data out of the definition: pass it as a parameter, or let a task fetch it.'
const tooDeepHint = `A definition may be nested ${limits.payloadDepthMax} levels deep.`

/** Makes JSON of the nodes of a YAML document, and keeps the node of every value. */
export class Conversion {
  isTooLarge = false
  readonly #text: string
  readonly #lines: Lines
  readonly #log: ProblemLog
  readonly #anchored = new Map<string, Node>()
  /** The nodes around the one in hand; an alias leads back into the document. */
  readonly #around: Node[] = []
  /** Inside an alias: the anchors in there are not set again. */
  #isExpanding = false
  #aliased = 0

  constructor(text: string, lines: Lines, log: ProblemLog) {
    this.#text = text
    this.#lines = lines
    this.#log = log
  }

  convert(node: Node, path: Path): Place {
    if (isAlias(node)) return this.#convertAlias(node, path)
    if (node.anchor !== undefined && !this.#isExpanding) this.#anchored.set(node.anchor, node)
    // An alias costs a few bytes and may stand for millions of values.
    if (this.#isExpanding) this.#aliased += 1
    if (this.#aliased > limits.definitionAliasedMax && !this.isTooLarge) {
      this.isTooLarge = true
      const message = `the aliases up to here stand for more than ${limits.definitionAliasedMax} values`
      this.#add(path, node, message, 'Use fewer of them inside one another.')
    }
    if (path.length > limits.payloadDepthMax && !this.isTooLarge) {
      this.isTooLarge = true
      this.#add(path, node, 'the file is nested too deeply here', tooDeepHint)
    }
    if (this.isTooLarge) return leaf(null, node)
    this.#around.push(node)
    const place = this.#convertContent(node, path)
    this.#around.pop()
    return place
  }

  #convertContent(node: Exclude<Node, { type: 'ALIAS' }>, path: Path): Place {
    const forgotten = unquotedExpression(node, this.#text)
    if (forgotten) {
      const hint = `YAML reads { as the start of a mapping. Write '${forgotten.value}', in quotes.`
      this.#add(
        path,
        forgotten,
        'an expression must be in quotes',
        forgotten.value.includes("'") ? doubleQuotes(forgotten) : hint,
      )
      return leaf(forgotten.value, forgotten)
    }
    if (isMap(node)) return this.#convertMap(node.items as Pair<Node, Node | null>[], node, path)
    if (isSeq(node)) {
      const places = (node.items as Node[]).map((item, i) => this.convert(item, [...path, i]))
      const members = new Map(places.map((place, i) => [i, { key: undefined, place }]))
      return { value: places.map(({ value }) => value), node, members }
    }
    if (isScalar(node)) {
      return leaf(this.#canBeStored(node, path) ? node.value : null, node)
    }
    return leaf(null, node)
  }

  #convertMap(pairs: readonly Pair<Node, Node | null>[], node: Node, path: Path): Place {
    const members = new Map<string, Member>()
    const merged = new Map<string, Member>()
    for (const { key, value } of pairs) {
      const name = this.#keyText(key, path)
      if (name === undefined) continue
      const place = value === null ? leaf(null, key) : this.convert(value, [...path, name])
      const earlier = members.get(name)
      if (name === '<<') this.#merge(place, merged, path)
      else if (earlier?.key) {
        const line = this.#lines.spanOf(earlier.key).line
        this.#add(
          [...path, name],
          key,
          `the key ${JSON.stringify(name)} is there twice`,
          `Line ${line} has it, too. Keep one.`,
        )
      } else members.set(name, { key, place })
    }
    for (const [name, member] of merged) if (!members.has(name)) members.set(name, member)
    const value = Object.fromEntries([...members].map(([name, member]) => [name, member.place.value]))
    return { value, node, members }
  }

  #merge(place: Place, merged: Map<string, Member>, path: Path): void {
    const sources = isSeq(place.node) ? [...place.members.values()].map((member) => member.place) : [place]
    for (const source of sources) {
      if (!isMap(source.node)) {
        this.#add(
          [...path, '<<'],
          source.node,
          '<< merges mappings only',
          'Give it an alias of a mapping: <<: *defaults',
        )
        continue
      }
      for (const [name, member] of source.members) if (!merged.has(String(name))) merged.set(String(name), member)
    }
  }

  #convertAlias(node: Node & { source: string }, path: Path): Place {
    const target = this.#anchored.get(node.source)
    if (target === undefined) {
      const hint = `Anchor a value above with &${node.source}, or put the text in quotes if it is meant to begin with *.`
      this.#add(path, node, `there is no anchor &${node.source} before this alias`, hint)
      return leaf(null, node)
    }
    if (this.#around.includes(target)) {
      this.#add(path, node, `the alias *${node.source} stands inside its own anchor`, 'A value cannot contain itself.')
      return leaf(null, node)
    }
    const wasExpanding = this.#isExpanding
    this.#isExpanding = true
    const place = this.convert(target, path)
    this.#isExpanding = wasExpanding
    return place
  }

  #keyText(key: Node, path: Path): string | undefined {
    if (isScalar(key) && typeof key.value === 'string') return key.value
    this.#add(path, key, 'a key must be text', 'Put it in quotes if it holds special characters.')
    return undefined
  }

  #canBeStored(node: Scalar, path: Path): boolean {
    const { value, source } = node
    if (typeof value === 'number' && !Number.isFinite(value)) {
      this.#add(path, node, `${source} is no number that JSON knows`, 'Leave it out, or put it in quotes.')
    } else if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      this.#add(path, node, `${source} is too large to be kept exactly`, `Put it in quotes: '${source}'`)
    } else if (typeof value === 'string' && (value.includes('\u0000') || !value.isWellFormed())) {
      this.#add(path, node, 'the text contains U+0000 or a lone surrogate', 'PostgreSQL cannot store it. Take it out.')
    } else return true
    return false
  }

  #add(path: Path, node: Node, message: string, hint: string): void {
    this.#log.addAtSpan(path, this.#lines.spanOf(node), message, hint)
  }
}

function leaf(value: unknown, node: Node): Place {
  return { value, node, members: new Map() }
}

/** `{{ x }}` without quotes is a mapping with a mapping as its key. Nobody means that. */
function unquotedExpression(node: Node, text: string): Scalar<string> | undefined {
  if (!isMap(node) || !node.range) return undefined
  const [start, end] = node.range
  const written = text.slice(start, end)
  if (!/^\{\{.*\}\}$/s.test(written)) return undefined
  return Object.assign(new Scalar(written), { type: Scalar.PLAIN, range: node.range } as const)
}

function doubleQuotes({ value }: { readonly value: string }): string {
  return `YAML reads { as the start of a mapping. Write "${value.replaceAll('"', '\\"')}", in quotes.`
}
