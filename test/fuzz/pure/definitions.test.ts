import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { defineConfig } from '../../../src/config/config.js'
import { packageRoot } from '../../../src/package-root.js'
import { compileExpression, ExpressionError } from '../../../src/workflow/expression.js'
import { readWorkflowText } from '../../../src/workflow/workflow-file.js'
import { compileWorkflow } from '../../../src/workflow/compile.js'
import { compileTemplate } from '../../../src/workflow/template.js'
import { readYaml } from '../../../src/workflow/yaml-file.js'
import { hostileText, hostileTexts, hostileValue, nested, outcomeOf, runs, seed, someOf } from '../hostile.js'

/** Of a core, whatever else runs on the machine. */
const cpuMsMax = 8_000
const files = ['order/order', 'order/shipping', 'release/release', 'fan-out'].map((name) =>
  readFileSync(join(packageRoot, 'examples', 'workflows', `${name}.yaml`), 'utf8'),
)
const pieces = [
  ...hostileTexts.filter((text) => text.length < 500),
  '- ',
  ': ',
  '{',
  '}',
  '[',
  '&a ',
  '*a',
  '!!js/function ',
  '<<: *a',
  '---\n',
  '|\n',
  '\t',
  '? ',
  '#',
  '%YAML 1.1\n',
]

/** A file that was right, with some of its lines or characters cut, doubled, moved or replaced. */
const mutated: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...files),
    fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(5), fc.constantFrom(...pieces)), { minLength: 1, maxLength: 4 }),
  )
  .map(([file, changes]) => changes.reduce((text, change) => mutate(text, ...change), file))

function mutate(text: string, at: number, length: number, how: number, piece: string): string {
  const lines = text.split('\n')
  const line = at % lines.length
  const place = at % (text.length + 1)
  switch (how) {
    case 0:
      return lines.toSpliced(line, 1).join('\n')
    case 1:
      return lines.toSpliced(line, 0, lines[length % lines.length] as string).join('\n')
    case 2:
      return text.slice(0, place) + piece + text.slice(place)
    case 3:
      return text.slice(0, place) + piece + text.slice(place + (length % 20))
    case 4:
      return lines.with(line, (lines[line] as string).replace(/:.*/, `: ${piece}`)).join('\n')
    default:
      return text.slice(0, place)
  }
}

/** Everything a definition may be made of, in places where it belongs and where it does not. */
const task = fc.oneof(
  hostileValue,
  someOf({
    name: hostileValue,
    action: fc.oneof(fc.constantFrom('core.echo', 'core.fail', 'a.b', 'workflow.x'), hostileValue),
    input: hostileValue,
    next: fc.oneof(fc.array(someOf({ when: hostileValue, do: hostileValue, publish: hostileValue })), hostileValue),
    join: hostileValue,
    with_items: hostileValue,
    concurrency: hostileValue,
    retry: fc.oneof(someOf({ count: hostileValue, delay: hostileValue }), hostileValue),
    timeout: hostileValue,
    wait_for: fc.oneof(
      someOf({ signal: hostileValue, time: hostileValue, run: hostileValue, approval: hostileValue }),
      hostileValue,
    ),
  }),
)
const definition = someOf({
  name: hostileValue,
  description: hostileValue,
  parameters: fc.oneof(fc.dictionary(hostileText, hostileValue), hostileValue),
  vars: hostileValue,
  tasks: fc.oneof(fc.array(task), fc.dictionary(hostileText, task), hostileValue),
  output: hostileValue,
  timeout: hostileValue,
})

function inTime<Result>(work: () => Result): Result {
  const before = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(cpuMsMax)
  return result
}

/** A definition, or problems that say what is wrong; and what is accepted is accepted again. */
function judge(compiled: ReturnType<typeof compileWorkflow>): void {
  if ('definition' in compiled) {
    expect(compiled.definition.tasks.length).toBeGreaterThan(0)
    expect(() => JSON.stringify(compiled.definition)).not.toThrow()
    return
  }
  expect(compiled.problems.length).toBeGreaterThan(0)
  for (const { message } of compiled.problems) expect(message).not.toBe('')
}

it(`a workflow file is read, or refused with its problems (seed ${seed})`, () => {
  fc.assert(
    fc.property(mutated, (text) => judge(inTime(() => readWorkflowText(text, 'mutated.yaml')))),
    runs(200),
  )
})

it(`a definition is compiled, or refused with its problems (seed ${seed})`, () => {
  fc.assert(
    fc.property(definition, (data) => judge(inTime(() => compileWorkflow(data)))),
    runs(500),
  )
})

it('a file that would cost memory or time is refused before', () => {
  const bombs = [
    `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'.replace(/./g, (name, n: number) => `${name}: &${name} [${`*${'abcdefghi'[n]},`.repeat(9)}]\n`)}`,
    '['.repeat(100_000),
    '{a: '.repeat(50_000),
    '- '.repeat(100_000),
    `name: ${'x'.repeat(2 * 1_048_576)}`,
    `"${'\\u0041'.repeat(300_000)}"`,
    'a: 1\n'.repeat(100_000),
    `tasks:\n${'  - { name: a }\n'.repeat(30_000)}`,
  ]
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (const bomb of bombs) {
    collect() // or what is measured would be the garbage of all of them, collected or not
    const before = process.memoryUsage().heapUsed
    judge(inTime(() => readWorkflowText(bomb, 'bomb.yaml')))
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(400 * 2 ** 20)
  }
})

const names = ['parameters', 'vars', 'tasks', 'result', 'item', 'items', 'run'] as const
const words = [
  'parameters',
  'tasks.a.result',
  'items',
  'item',
  '1',
  '-1',
  '1e308',
  '"a"',
  "'",
  'true',
  'null',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '.',
  ',',
  ':',
  '?',
  '+',
  '-',
  '*',
  '/',
  '%',
  '==',
  '<',
  '&&',
  '||',
  '!',
  'in',
  'size(',
  'matches(',
  'map(x, ',
  'filter(x, ',
  '"(a+)+$"',
  'succeeded()',
  '__proto__',
  'constructor',
  '\\u0000',
  '"\uD800"',
]
const expression = fc.oneof(
  fc.array(fc.constantFrom(...words), { maxLength: 15 }).map((some) => some.join(' ')),
  hostileText,
)

it(`an expression is evaluated, or refused with its place (seed ${seed})`, () => {
  const scope = {
    parameters: { a: 'a'.repeat(1_000), n: 1, list: Array.from({ length: 500 }, (_, n) => n), __proto__: { x: 1 } },
    vars: {},
    tasks: { a: { result: null, status: 'succeeded' } },
    result: null,
    item: 1,
    items: [1, 2, 3],
    run: {},
  } as never
  fc.assert(
    fc.property(expression, (text) => {
      try {
        inTime(() => compileExpression(`{{ ${text} }}`, names as never).evaluate(scope))
      } catch (error) {
        expect(error).toBeInstanceOf(ExpressionError)
      }
    }),
    runs(500),
  )
})

it(`a template of any value is compiled, or refused with its place (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'medium' }), expression, (value, text) => {
      try {
        inTime(() => compileTemplate([value, `a {{ ${text} }} b`] as never, names as never))
      } catch (error) {
        expect(error).toBeInstanceOf(ExpressionError)
      }
    }),
    runs(500),
  )
})

it(`any text is YAML, or refused with its problems (seed ${seed})`, () => {
  fc.assert(
    fc.property(
      fc.oneof(
        hostileText,
        fc.array(fc.constantFrom(...pieces)).map((some) => some.join('')),
      ),
      (text) => {
        const { content, problems } = inTime(() => readYaml(text))
        expect(content !== undefined || problems.length > 0).toBe(true)
      },
    ),
    runs(500),
  )
})

it(`a config is taken, or refused (seed ${seed})`, async () => {
  const config = someOf(
    Object.fromEntries(
      ['tasks', 'concurrency', 'queues', 'poll', 'grace', 'listen', 'metrics', 'sqs', 'database', 'schema'].map(
        (name) => [name, fc.oneof(hostileValue, fc.dictionary(hostileText, hostileValue), fc.constant(nested(50)))],
      ),
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.oneof(config, hostileValue), async (given) => {
      await outcomeOf(() => defineConfig(given as never))
    }),
    runs(500),
  )
})
