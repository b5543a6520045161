import { SqsError } from '../sqs-error.js'

/** The parameters of a query string or a form, as pairs in their order. */
export function parseForm(text: string): [name: string, value: string][] {
  return text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=')
      return equals < 0
        ? [decodePart(pair), '']
        : [decodePart(pair.slice(0, equals)), decodePart(pair.slice(equals + 1))]
    })
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new SqsError('MalformedQueryString', 'The query string contains a syntax error.', { cause })
  }
}

/** A parameter's name is a path: `Entry.1.Attribute.2.Name`. */
export interface FormNode {
  text: string | undefined
  readonly children: Map<string, FormNode>
}

/** Seven steps lead to the deepest parameter there is: whatever has more is nobody's, and need not be told apart. */
const stepsMax = 8

/** Of a parameter that is given twice, the last one counts. */
export function formTree(pairs: readonly (readonly [string, string])[]): FormNode {
  const root: FormNode = { text: undefined, children: new Map() }
  for (const [name, value] of pairs) {
    let node = root
    for (const step of name.split('.', stepsMax)) {
      let child = node.children.get(step)
      if (!child) {
        child = { text: undefined, children: new Map() }
        node.children.set(step, child)
      }
      node = child
    }
    node.text = value
  }
  return root
}

/** The numbered children in the order of their numbers; gaps are closed. */
export function numbered(node: FormNode): [number: number, child: FormNode][] {
  return [...node.children]
    .filter(([step]) => /^\d{1,9}$/.test(step))
    .map(([step, child]): [number, FormNode] => [Number(step), child])
    .sort(([a], [b]) => a - b)
}
