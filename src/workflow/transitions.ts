import type { Json } from '../job/json.js'
import { commands, type Transition } from './definition.js'
import type { ExpressionCheck } from './expression-check.js'
import { type Field, isText, type Shape } from './field.js'

const transitionShape: Shape = {
  what: 'a transition',
  keys: ['when', 'publish', 'do'],
  elsewhere: {
    if: 'when',
    condition: 'when',
    then: 'do',
    goto: 'do',
    to: 'do',
    task: 'do',
    next: 'do',
    set: 'publish',
    vars: 'publish',
    else: 'Every transition whose condition holds fires. Write a second one with the opposite condition.',
    name: 'A transition names the tasks that follow in do.',
  },
}

/** `next`: the transitions, in their order. */
export function compileNext(field: Field, expressions: ExpressionCheck): readonly Transition[] {
  if (!field.isGiven) return []
  const transitions = field.list('a list of transitions', nextHint(field.value)) ?? []
  return transitions.map((transition) => compileTransition(transition, expressions))
}

function nextHint(value: unknown): string {
  if (isText(value)) return `Write next: [{ do: ${value} }].`
  if (typeof value !== 'object' || value === null) return 'Such as next: [{ when: "{{ succeeded() }}", do: … }].'
  return 'Put a dash before each transition: - when: …'
}

function compileTransition(field: Field, expressions: ExpressionCheck): Transition {
  const hint = isText(field.value) ? `Write { do: ${field.value} }.` : 'Such as { when: "{{ succeeded() }}", do: … }.'
  if (!field.hasShape(transitionShape, hint)) return { when: null, publish: {}, do: [] }
  const when = field.at('when')
  const condition = when.value === undefined ? null : (expressions.checkOne(when, 'next') ?? null)
  const targets = compileDo(field.at('do'), expressions)
  if (targets.includes('retry') && when.value === undefined) {
    field.at('do').add('retry without when repeats the task for ever', 'Say when: when: "{{ failed() }}".')
  }
  return { when: condition, publish: compilePublish(field.at('publish'), expressions), do: targets }
}

function compilePublish(field: Field, expressions: ExpressionCheck): Readonly<Record<string, Json>> {
  if (!field.isGiven) return {}
  const hint = Array.isArray(field.value)
    ? 'Leave out the dashes: publish: { name: value }.'
    : 'Such as publish: { image: "{{ result().image }}" }.'
  const entries = field.entries('a mapping of vars to values', hint) ?? []
  for (const [name, value] of entries) {
    expressions.checkVar(name, value)
    expressions.checkTemplate(value, 'next', 'what is published is shown')
  }
  return Object.fromEntries(entries.map(([name, { value }]) => [name, value as Json]))
}

/** Names of tasks, in which an unknown one is replaced by the one that was probably meant; it is noted. */
function compileDo(field: Field, expressions: ExpressionCheck): readonly string[] {
  if (!field.isGiven) return []
  const targets = Array.isArray(field.value) ? field.value.map((_, i) => field.at(i)) : [field]
  const names = targets.flatMap((target) => {
    const hint = target === field ? 'Or several, as a list: do: [scan, report].' : 'Write the name alone: - scan'
    const name = target.text('the name of a task', hint)
    return name === undefined ? [] : [[name, target] as const]
  })
  const seen = new Set<string>()
  for (const [name, target] of names) {
    if (seen.has(name))
      target.add(`${JSON.stringify(name)} is named twice in one do`, 'Name it once; it runs once for this transition.')
    seen.add(name)
    if (names.length > 1 && isCommand(name)) {
      target.add(
        `the command ${name} must stand alone in do`,
        'Give it a transition of its own: every one whose condition holds fires.',
      )
    }
  }
  const known = names.map(([name, target]) => (isCommand(name) ? name : expressions.checkTask(name, target)))
  return known.filter((name) => name !== 'continue') // which is what happens anyway
}

function isCommand(name: string): boolean {
  return commands.some((command) => command === name)
}
