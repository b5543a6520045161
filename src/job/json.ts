import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * A value as JSON text that PostgreSQL stores and gives back unchanged, or an error. `what` names the value in it.
 *
 * JSON.stringify alone would store a Map as {}, NaN as null and an undefined array member as null; it would overflow
 * the stack on deep nesting, and PostgreSQL would refuse U+0000 and lone surrogates after the round trip.
 */
export function jsonText(value: unknown, what: string, bytesMax: number): string {
  checkStructure(value, what)
  const text = JSON.stringify(value ?? null)
  const bytes = Buffer.byteLength(text)
  if (bytes > bytesMax) {
    throw new FencepostError('FP_INPUT_TOO_LARGE', `${what} has ${bytes} bytes, the limit is ${bytesMax}`)
  }
  if (text.includes('\\u')) {
    if (/(?<!\\)(?:\\\\)*\\u0000/.test(text)) throw notJson(what, 'contains the character U+0000')
    if (/(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/.test(text)) throw notJson(what, 'contains a lone surrogate')
  }
  return text
}

/** Walks with a stack of its own: the call stack must not be the limit. */
function checkStructure(root: unknown, what: string): void {
  const open: { value: unknown; path: string; depth: number; parents: readonly object[] }[] = [
    { value: root ?? null, path: what, depth: 0, parents: [] },
  ]
  for (let entry = open.pop(); entry; entry = open.pop()) {
    const { path, depth, parents } = entry
    const value = unwrapped(entry.value, path)
    switch (typeof value) {
      case 'string':
      case 'boolean':
        continue
      case 'number':
        if (!Number.isFinite(value)) throw notJson(path, `is ${value}`)
        continue
      case 'object':
        if (value === null) continue
        break
      default:
        throw notJson(path, `is ${article(typeof value)}`)
    }
    if (depth >= limits.payloadDepthMax) {
      throw new FencepostError('FP_INPUT_TOO_DEEP', `${what} is nested deeper than ${limits.payloadDepthMax} levels`)
    }
    if (parents.includes(value)) throw notJson(path, 'contains itself')
    const inside = [...parents, value]
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        open.push({ value: value[i], path: `${path}[${i}]`, depth: depth + 1, parents: inside })
      }
      continue
    }
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) {
      throw notJson(path, `is a ${value.constructor?.name ?? 'class instance'}, not a plain object`)
    }
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue // left out, as JSON.stringify does
      open.push({ value: member, path: `${path}.${key}`, depth: depth + 1, parents: inside })
    }
  }
}

function unwrapped(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON !== 'function') return value
  const plain: unknown = toJSON.call(value, '')
  if (plain === value || plain === undefined) throw notJson(path, 'has a toJSON() that gives nothing to store')
  return plain
}

function notJson(path: string, problem: string): FencepostError {
  return new FencepostError('FP_INPUT_NOT_JSON', `${path.slice(0, 200)} ${problem}`)
}

function article(type: string): string {
  return type === 'undefined' ? 'undefined' : `a ${type}`
}
