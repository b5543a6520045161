import { limits } from '../limits.js'
import { commands } from './definition.js'

interface NameRule {
  readonly pattern: RegExp
  /** Everything but what a name may hold. */
  readonly foreign: RegExp
  readonly joint: string
  readonly rule: string
  readonly lengthMax: number
}

const rules = {
  workflow: {
    pattern: /^[A-Za-z_][A-Za-z0-9_.-]*$/,
    foreign: /[^A-Za-z0-9_.-]+/g,
    joint: '-',
    rule: 'A name has letters, digits, _, - and dots, and begins with a letter or _.',
    lengthMax: limits.nameLengthMax,
  },
  task: {
    pattern: /^[A-Za-z_][A-Za-z0-9_-]*$/,
    foreign: /[^A-Za-z0-9_-]+/g,
    joint: '_',
    rule: 'A name has letters, digits, _ and -, and begins with a letter or _.',
    lengthMax: limits.workflowTaskNameLengthMax,
  },
  member: {
    pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
    foreign: /[^A-Za-z0-9_]+/g,
    joint: '_',
    rule: 'A name has letters, digits and _, and begins with a letter or _: expressions write it after a dot.',
    lengthMax: limits.workflowTaskNameLengthMax,
  },
} as const satisfies Record<string, NameRule>

/** What is wrong with a name, if anything is. `what` says whose it is, such as `a task`. */
export function nameProblem(
  name: string,
  kind: keyof typeof rules,
  what: string,
): { readonly message: string; readonly hint: string } | undefined {
  const { pattern, rule, lengthMax } = rules[kind]
  if (name.length > lengthMax) {
    const message = `the name of ${what} has ${name.length} characters, the limit is ${lengthMax}`
    return { message, hint: 'Choose a shorter one.' }
  }
  if (kind === 'task' && commands.some((command) => command === name)) {
    const hint = `${name} is a command: in do it would not be known which is meant. Choose another name.`
    return { message: `${what} cannot be called ${name}`, hint }
  }
  if (pattern.test(name)) return undefined
  const better = suggested(name, rules[kind])
  const example = pattern.test(better) ? ` For example ${better}.` : ''
  return { message: `${JSON.stringify(name)} cannot be the name of ${what}`, hint: `${rule}${example}` }
}

function suggested(name: string, { foreign, joint }: NameRule): string {
  const plain = name
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .trim()
  return plain
    .replaceAll(foreign, joint)
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .replace(/^(?=\d)/, '_')
}
