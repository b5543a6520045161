import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { defaults, limits } from '../../src/limits.js'
import { compileWorkflow } from '../../src/workflow/compile.js'
import type { Definition, TaskDefinition } from '../../src/workflow/definition.js'
import { releaseYaml } from './release.js'

const noop = { name: 'a', action: 'core.noop' }

function compiled(data: unknown): Definition {
  const result = compileWorkflow(data)
  if ('problems' in result) throw new Error(JSON.stringify(result.problems, null, 2))
  return result.definition
}

/** The problems of a workflow, by their paths. */
function problems(data: unknown): string[] {
  const result = compileWorkflow(data)
  return 'problems' in result ? result.problems.map(({ path, message }) => `${path}: ${message}`) : []
}

function taskOf(task: object, workflow: object = {}): TaskDefinition {
  return compiled({ name: 'w', tasks: [{ name: 'a', action: 'x', ...task }], ...workflow }).tasks[0] as TaskDefinition
}

describe('the stored form', () => {
  it('has every default filled in', () => {
    expect(compiled({ name: 'w', tasks: [noop] })).toEqual({
      name: 'w',
      description: null,
      parameters: {},
      vars: {},
      timeoutMs: null,
      tasks: [
        {
          name: 'a',
          action: 'core.noop',
          input: null,
          join: null,
          items: null,
          retry: null,
          timeoutMs: null,
          delayMs: 0,
          next: [],
        },
      ],
      output: null,
    })
  })

  it('has the description and the timeout of the workflow', () => {
    expect(compiled({ name: 'w', description: 'Ships it.', timeout: '1h', tasks: [noop] })).toMatchObject({
      description: 'Ships it.',
      timeoutMs: 3_600_000,
    })
  })

  it('of the release example', () => {
    const { tasks, ...rest } = compiled(parse(releaseYaml))
    expect(rest).toEqual({
      name: 'release',
      description: null,
      parameters: {
        version: { type: 'string', required: true, secret: false, description: null },
        regions: { type: 'array', required: false, secret: false, description: null },
      },
      vars: { image: null },
      timeoutMs: null,
      output: { image: '{{ vars.image }}' },
    })
    expect(tasks.map(({ name, join }) => [name, join])).toEqual([
      ['build', null],
      ['process_items', null],
      ['scan', null],
      ['validate', 'all'],
      ['report', null],
    ])
    expect(tasks[0]).toMatchObject({
      retry: {
        count: 3,
        delayMs: 5_000,
        backoff: 'exponential',
        maxDelayMs: 60_000,
        when: "{{ error.code != 'BadInput' }}",
      },
      timeoutMs: 600_000,
      next: [
        { when: '{{ succeeded() }}', publish: { image: '{{ result().image }}' }, do: ['scan', 'process_items'] },
        { when: '{{ failed() || timed_out() }}', publish: {}, do: ['report'] },
      ],
    })
    expect(tasks[1]?.items).toEqual({
      of: '{{ parameters.regions }}',
      zipped: false,
      batchSize: null,
      concurrency: 3,
      onFailure: 'fail',
    })
  })

  it('is JSON that is the same after a round trip', () => {
    const definition = compiled(parse(releaseYaml))
    expect(JSON.parse(JSON.stringify(definition))).toEqual(definition)
  })

  it.each<[string, unknown, unknown]>([
    ['a type alone', 'string', { type: 'string', required: false, secret: false, description: null }],
    ['nothing', null, { type: null, required: false, secret: false, description: null }],
    [
      'everything',
      { type: 'integer', default: 3, description: 'How many' },
      { type: 'integer', required: false, secret: false, description: 'How many', default: 3 },
    ],
    [
      'a default of null',
      { default: null },
      { type: null, required: false, secret: false, description: null, default: null },
    ],
  ])('of a parameter that is declared with %s', (_, declared, expected) => {
    const { parameters } = compiled({ name: 'w', parameters: { p: declared }, tasks: [noop] })
    expect(parameters).toStrictEqual({ p: expected })
  })

  it.each<[string, object, Partial<TaskDefinition>]>([
    ['a signal', { signal: 'paid' }, { action: 'wait.signal', input: { name: 'paid' } }],
    ['a run', { run: '{{ run.id }}' }, { action: 'wait.run', input: { run: '{{ run.id }}' } }],
    ['a time', { time: '2030-01-31T18:00:00Z' }, { action: 'wait.time', input: { at: '2030-01-31T18:00:00Z' } }],
    ['a time in milliseconds', { time: 1_900_000_000_000 }, { action: 'wait.time', input: { at: 1_900_000_000_000 } }],
    [
      'an approval',
      { approval: { title: 'Go?', form: { why: 'string' }, expires: '3d' } },
      {
        action: 'wait.approval',
        input: {
          title: 'Go?',
          form: { why: { type: 'string', required: false, secret: false, description: null } },
          expires: '3d',
        },
      },
    ],
    [
      'an approval without a form',
      { approval: { title: 'Go?' } },
      {
        action: 'wait.approval',
        input: { title: 'Go?', form: {}, expires: null },
      },
    ],
  ])('of a wait for %s', (_, waitFor, expected) => {
    expect(taskOf({ action: undefined, wait_for: waitFor })).toMatchObject(expected)
  })

  it.each<[string, object, unknown]>([
    ['a list', { with_items: [1, '{{ run.id }}'] }, { of: [1, '{{ run.id }}'], zipped: false }],
    [
      'zipped lists',
      { with_items: { x: [1], y: '{{ vars.l }}' } },
      { of: { x: [1], y: '{{ vars.l }}' }, zipped: true },
    ],
    ['batches', { with_items: [], batch_size: 10 }, { of: [], batchSize: 10 }],
    ['a limit', { with_items: [], concurrency: '{{ vars.l.size() }}' }, { concurrency: '{{ vars.l.size() }}' }],
    ['failures that do not count', { with_items: [], on_item_failure: 'continue' }, { onFailure: 'continue' }],
  ])('of items: %s', (_, task, expected) => {
    expect(taskOf(task, { vars: { l: [] } }).items).toMatchObject(expected as object)
  })

  it.each<[string, unknown, string[]]>([
    ['one name', 'b', ['b']],
    ['several', ['b', 'c'], ['b', 'c']],
    ['a command', 'noop', ['noop']],
    ['a command in a list', ['fail'], ['fail']],
    ['continue, which happens anyway', 'continue', []],
    ['nothing', undefined, []],
  ])('of do: %s', (_, given, expected) => {
    const others = [
      { name: 'b', action: 'x' },
      { name: 'c', action: 'x' },
    ]
    const { tasks } = compiled({ name: 'w', tasks: [{ name: 'a', action: 'x', next: [{ do: given }] }, ...others] })
    expect(tasks[0]?.next[0]?.do).toEqual(expected)
  })

  it.each<[object, object]>([
    [{}, { count: defaults.retryLimit, delayMs: 2_000, backoff: 'exponential', maxDelayMs: 300_000, when: null }],
    [{ count: 0 }, { count: 0 }],
    [{ delay: '10m' }, { delayMs: 600_000, maxDelayMs: 600_000 }],
    [{ when: ' {{ attempt < 3 }}\n' }, { when: '{{ attempt < 3 }}' }],
  ])('of a retry %j', (retry, expected) => {
    expect(taskOf({ retry }).retry).toMatchObject(expected)
  })

  it('takes what is empty for not given', () => {
    const empty = { input: null, join: null, retry: null, timeout: null, delay: null, next: null }
    expect(taskOf(empty)).toEqual(taskOf({}))
    expect(compiled({ name: 'w', parameters: null, vars: null, output: null, timeout: null, tasks: [noop] })).toEqual(
      compiled({ name: 'w', tasks: [noop] }),
    )
  })

  it('keeps the delay, the timeout of the run and that of long waits', () => {
    expect(taskOf({ delay: '5s' }).delayMs).toBe(5_000)
    expect(compiled({ name: 'w', timeout: '1w', tasks: [noop] }).timeoutMs).toBe(604_800_000)
    expect(taskOf({ action: undefined, wait_for: { signal: 's' }, timeout: '365d' }).timeoutMs).toBe(365 * 86_400_000)
    expect(taskOf({ action: 'workflow.other', timeout: '60d' }).timeoutMs).toBe(60 * 86_400_000)
  })
})

describe('what is right is let through', () => {
  it.each<[string, object]>([
    [
      'a circle',
      { tasks: [noop, { name: 'b', action: 'x', next: [{ do: 'b' }] }, { ...noop, name: 'c', next: [{ do: 'b' }] }] },
    ],
    ['a task that leads only to itself', { tasks: [{ ...noop, next: [{ when: '{{ failed() }}', do: 'a' }] }] }],
    [
      'a join of an edge that leads back',
      {
        tasks: [
          { ...noop, next: [{ do: 'b' }] },
          { name: 'b', action: 'x', join: 1, next: [{ when: '{{ failed() }}', do: 'b' }] },
        ],
      },
    ],
    ['a transition that does nothing', { tasks: [{ ...noop, next: [{}] }] }],
    ['retry with a condition', { tasks: [{ ...noop, next: [{ when: '{{ failed() }}', do: 'retry' }] }] }],
    [
      'a secret in the input of a task',
      {
        parameters: { t: { secret: true } },
        tasks: [{ name: 'a', action: 'x', input: { t: '{{ parameters.t }}' } }],
      },
    ],
    [
      'all parameters in the output, if none is secret',
      { parameters: { t: 'string' }, tasks: [noop], output: '{{ parameters }}' },
    ],
    [
      'a variable of a loop that is called like a name',
      {
        tasks: [noop],
        output: '{{ [{"x": 1}].map(vars, vars.x).size() + [1].map(tasks, tasks)[0] }}',
      },
    ],
    ['tasks by a computed name', { vars: { n: 'a' }, tasks: [noop], output: '{{ tasks[vars.n].result }}' }],
    ['a name with a dash in brackets', { tasks: [{ ...noop, name: 'a-b' }], output: "{{ tasks['a-b'].status }}" }],
    ['a sleep that is computed', { tasks: [{ name: 'a', action: 'core.sleep', input: '{{ parameters }}' }] }],
    [
      'a sleep for a computed time',
      { vars: { s: 1 }, tasks: [{ name: 'a', action: 'core.sleep', input: { for: '{{ vars.s }}s' } }] },
    ],
    [
      'a request',
      {
        tasks: [
          {
            name: 'a',
            action: 'core.http',
            retry: {},
            timeout: '5s',
            input: { method: 'post', url: 'https://x', expect: [404] },
          },
        ],
      },
    ],
    [
      'a form that is computed',
      { tasks: [{ name: 'a', action: 'core.ask', input: { title: 'x', form: '{{ parameters }}' } }] },
    ],
    [
      'a form with a computed default',
      {
        tasks: [
          {
            name: 'a',
            action: 'core.ask',
            input: { title: 'x', form: { f: { type: 'integer', default: '{{ 1 + 1 }}' } } },
          },
        ],
      },
    ],
  ])('%s', (_, workflow) => {
    expect(problems({ name: 'w', ...workflow })).toEqual([])
  })
})

describe('problems without a file', () => {
  it('have the path by which the value is found, with the names of tasks', () => {
    expect(
      problems({
        name: 'w',
        tasks: [
          { name: 'build', action: 'x', next: [{ do: 'b' }, { do: ['c', 'nowhere'] }] },
          { action: 'core.noop', 'odd key': 1 },
        ],
      }),
    ).toEqual([
      'tasks.build.next[0].do: unknown task "b"',
      'tasks.build.next[1].do[0]: unknown task "c"',
      'tasks.build.next[1].do[1]: unknown task "nowhere"',
      'tasks[1]["odd key"]: unknown key "odd key" in a task',
      'tasks[1]: a task has no name',
    ])
  })

  it('carry the expression that they are about', () => {
    const result = compileWorkflow({ name: 'w', tasks: [{ ...noop, next: [{ when: ' {{ vars.x }}' }] }] })
    expect(result).toEqual({
      problems: [
        {
          path: 'tasks.a.next[0].when',
          message: 'unknown var "x"',
          hint: 'Declare it at the top: vars: { x: null }',
          expression: { source: ' {{ vars.x }}', offset: 9, length: 1 },
        },
      ],
    })
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /^: a workflow is empty/],
    ['a function', { name: 'w', tasks: () => [] }, /tasks is a function/],
    ['a date that is none', { name: 'w', tasks: [{ ...noop, input: new Date(Number.NaN) }] }, /is an invalid Date/],
    ['a map', { name: 'w', tasks: [noop], vars: { m: new Map() } }, /vars.m is an instance of Map/],
    [
      'too many bytes',
      { name: 'w', tasks: [noop], output: 'x'.repeat(limits.definitionBytesMax) },
      /more than 1048576 bytes/,
    ],
  ])('say that %s is no definition', (_, data, expected) => {
    expect(problems(data)).toEqual([expect.stringMatching(expected)])
  })
})

describe('limits', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => i)
  const fields = (count: number) => Object.fromEntries(many(count).map((i) => [`f${i}`, null]))

  it.each<[string, (excess: number) => object, string]>([
    [
      'tasks',
      (excess) => ({
        tasks: many(limits.workflowTasksMax + excess).map((i) => ({ name: `t${i}`, action: 'core.noop' })),
      }),
      `tasks: there are ${limits.workflowTasksMax + 1} tasks, the limit is ${limits.workflowTasksMax}`,
    ],
    [
      'transitions',
      (excess) => ({
        tasks: [
          ...many(100).map((i) => ({
            name: `s${i}`,
            action: 'core.noop',
            next: [{ do: many(100).map((j) => `t${j}`) }, ...many(i === 0 ? excess : 0).map(() => ({}))],
          })),
          ...many(100).map((i) => ({ name: `t${i}`, action: 'core.noop' })),
        ],
      }),
      `tasks: there are ${limits.workflowTransitionsMax + 1} transitions, the limit is ${limits.workflowTransitionsMax}`,
    ],
    [
      'parameters',
      (excess) => ({ parameters: fields(limits.workflowFieldsMax + excess), tasks: [noop] }),
      `parameters: there are ${limits.workflowFieldsMax + 1} parameters, the limit is ${limits.workflowFieldsMax}`,
    ],
    [
      'vars',
      (excess) => ({ vars: fields(limits.workflowFieldsMax + excess), tasks: [noop] }),
      `vars: there are ${limits.workflowFieldsMax + 1} vars, the limit is ${limits.workflowFieldsMax}`,
    ],
    [
      'the name of the workflow',
      (excess) => ({ name: 'n'.repeat(limits.nameLengthMax + excess), tasks: [noop] }),
      `name: the name of a workflow has ${limits.nameLengthMax + 1} characters, the limit is ${limits.nameLengthMax}`,
    ],
    [
      'the name of a task',
      (excess) => ({ tasks: [{ ...noop, name: 'n'.repeat(limits.workflowTaskNameLengthMax + excess) }] }),
      `the name of a task has ${limits.workflowTaskNameLengthMax + 1} characters, the limit is ${limits.workflowTaskNameLengthMax}`,
    ],
    [
      'an action',
      (excess) => ({ tasks: [{ name: 'a', action: 'n'.repeat(limits.nameLengthMax + excess) }] }),
      `tasks.a.action: action has ${limits.nameLengthMax + 1} characters, the limit is ${limits.nameLengthMax}`,
    ],
  ])('of %s', (_, workflow, expected) => {
    expect(problems({ name: 'w', ...workflow(0) })).toEqual([])
    expect(problems({ name: 'w', ...workflow(1) })).toEqual([expect.stringContaining(expected)])
  })
})

describe('a hint', () => {
  it('tells how a name with a dash is written, which an expression takes for a minus', () => {
    const result = compileWorkflow({ name: 'w', tasks: [{ ...noop, name: 'step-1' }], output: '{{ tasks.step-1 }}' })
    expect(result).toMatchObject({
      problems: [{ message: 'unknown task "step"', hint: "A name with a dash is written tasks['step-1']." }],
    })
  })
})

describe('what is wrong is told with what to do about it', () => {
  const action =
    'Say what it does: action: with the name of a registered task, workflow.<name>, or core.echo, core.noop, core.fail, core.sleep, core.http or core.ask. Or what it waits for: wait_for.'
  const nameless = 'Begin it with - name: …, by which others lead to it.'
  const message = 'Write input: { message: … }; it becomes the error of the task.'
  const time = 'Write it as 2030-01-31T18:00:00Z, or as an expression.'
  const url = 'url must be a url that begins with http:// or https://, not'
  const join = 'join must be all, or the number of tasks before it that it waits for, not'
  const joins = 'Write join: all, or a number from 1. Without join it runs each time that a task leads to it.'
  const range = 'must be a whole number from 100 to 599'

  const hints = (data: unknown) => {
    const result = compileWorkflow(data)
    return 'problems' in result
      ? result.problems.map(({ path, ...told }) => `${path}: ${told.message} | ${told.hint}`)
      : []
  }

  it.each<[string, object, string[]]>([
    ['a name that is none', { name: [] }, ['name: name must be the name of the workflow, not a list | Write a text.']],
    ['no tasks', { tasks: [] }, ['tasks: the workflow has no tasks | Add one: - name: …']],
    [
      'a mapping of no tasks',
      { tasks: {} },
      ['tasks: tasks must be a list of tasks, not a mapping | Put each name into its task: - name: …'],
    ],
    [
      'vars that are none',
      { vars: 'a' },
      ['vars: vars must be a mapping of names to first values, not "a" | Such as vars: { image: null }.'],
    ],
  ])('%s', (_, workflow, expected) => {
    expect(hints({ name: 'w', tasks: [noop], ...workflow })).toEqual(expected)
  })

  it.each<[string, object, string[]]>([
    ['a task of nothing', {}, [`: a task has no action | ${action}`, `: a task has no name | ${nameless}`]],
    [
      'an empty name',
      { name: '' },
      [`: a task has no action | ${action}`, `.name: name must be the name of the task, not "" | ${nameless}`],
    ],
    [
      'a name that is none',
      { name: [] },
      [`: a task has no action | ${action}`, `.name: name must be the name of the task, not a list | ${nameless}`],
    ],
  ])('%s', (_, task, expected) => {
    expect(hints({ name: 'w', tasks: [task] })).toEqual(expected.map((problem) => `tasks[0]${problem}`))
  })

  it('two tasks without a name, but not that they have the same', () => {
    const told = `.name: name must be the name of the task, not "" | ${nameless}`
    const nobody = { name: '', action: 'x' }
    expect(hints({ name: 'w', tasks: [nobody, nobody] })).toEqual([`tasks[0]${told}`, `tasks[1]${told}`])
  })

  it.each<[string, object, string[]]>([
    [
      'a wait that is none',
      { action: 'wait.forever' },
      ['action: there is no action "wait.forever" | To wait for something, write wait_for instead of action.'],
    ],
    [
      'a control character in an action',
      { action: 'a\tb' },
      ['action: action contains a control character | Leave it out: no task has such a name.'],
    ],
    ['a join in quotes', { join: '12' }, [`join: ${join} "12" | Leave out the quotes.`]],
    ['a join that begins like a number', { join: '1x' }, [`join: ${join} "1x" | ${joins}`]],
    ['a join that ends like a number', { join: 'x1' }, [`join: ${join} "x1" | ${joins}`]],
    ['core.fail alone', { action: 'core.fail' }, [`input: core.fail needs a message | ${message}`]],
    [
      'core.fail without a message',
      { action: 'core.fail', input: {} },
      [`input: core.fail needs a message | ${message}`],
    ],
    [
      'core.fail with a list',
      { action: 'core.fail', input: [] },
      [`input: input must be a mapping with message and code, not a list | ${message}`],
    ],
    [
      'core.fail with numbers',
      { action: 'core.fail', input: { message: 5, code: 6 } },
      [
        "input.message: message must be text, not 5 | Put it in quotes: '5'",
        "input.code: code must be text, not 6 | Put it in quotes: '6'",
      ],
    ],
    [
      'core.sleep with a key that it does not have, but not that it says nothing',
      { action: 'core.sleep', input: { hours: 5 } },
      ['input.hours: unknown key "hours" in the input of core.sleep | The keys are for and until.'],
    ],
    [
      'core.sleep until no time',
      { action: 'core.sleep', input: { until: 'soon' } },
      [`input.until: until must be a time, not "soon" | ${time}`],
    ],
    [
      'core.sleep until a part of a millisecond',
      { action: 'core.sleep', input: { until: 1.5 } },
      [`input.until: until must be a time, not 1.5 | ${time}`],
    ],
    [
      'core.http alone',
      { action: 'core.http' },
      ['input: core.http needs a url | Write input: { method: GET, url: https://… }.'],
    ],
    [
      'core.http with a number as url',
      { action: 'core.http', input: { url: 5 } },
      ["input.url: url must be a url, not 5 | Put it in quotes: '5'"],
    ],
    [
      'core.http with a url behind other words',
      { action: 'core.http', input: { url: 'see http://x' } },
      [`input.url: ${url} "see http://x" | Such as https://see http://x`],
    ],
    [
      'core.http with a status instead of a list',
      { action: 'core.http', input: { url: 'http://x', expect: 200 } },
      ['input.expect: expect must be a list of statuses, not 200 | Such as expect: [200, 404].'],
    ],
    [
      'core.http with statuses that there are not',
      { action: 'core.http', input: { url: 'http://x', expect: [99, 100, 599, 600, '{{ 200 }}'] } },
      [99, 600].map((status, n) => {
        const at = n * 3
        return `input.expect[${at}]: entry ${at + 1} of expect ${range}, not ${status} | Write it in digits, within this range.`
      }),
    ],
  ])('%s', (_, task, expected) => {
    expect(hints({ name: 'w', tasks: [{ name: 'a', action: 'x', ...task }] })).toEqual(
      expected.map((problem) => `tasks.a.${problem}`),
    )
  })
})

describe('one mistake is told once', () => {
  it.each<[string, object[], string[]]>([
    [
      'a misspelt task is taken for the one that was meant, so that its join is not counted short',
      [
        { ...noop, next: [{ do: ['left', 'right'] }] },
        { ...noop, name: 'left', next: [{ do: 'meet' }] },
        { ...noop, name: 'right', next: [{ do: 'meett' }] },
        { ...noop, name: 'meet', join: 2 },
      ],
      ['tasks.right.next[0].do: unknown task "meett"'],
    ],
    [
      'nothing is said of the graph while an edge of it leads nowhere',
      [
        { ...noop, next: [{ do: 'somewhere_else' }] },
        { ...noop, name: 'meet', join: 2 },
      ],
      ['tasks.a.next[0].do: unknown task "somewhere_else"'],
    ],
    [
      'a misspelt key is not missed as well',
      [{ name: 'a', acton: 'x' }],
      ['tasks.a.acton: unknown key "acton" in a task'],
    ],
    [
      'nor one that has another name elsewhere',
      [{ id: 'a', uses: 'x' }],
      ['tasks[0].id: unknown key "id" in a task', 'tasks[0].uses: unknown key "uses" in a task'],
    ],
    [
      'a join that is never met, and not the joins behind it',
      [
        { ...noop, next: [{ do: 'b' }] },
        { ...noop, name: 'b', join: 'all', next: [{ do: 'c' }] },
        { ...noop, name: 'c', next: [{ do: ['b', 'd'] }] },
        { ...noop, name: 'd', join: 'all' },
      ],
      ['tasks.b.join: join can never be met: c can only run after "b"'],
    ],
    [
      'two tasks of one name',
      [noop, { ...noop, next: [{ do: 'a' }], join: 5 }],
      ['tasks.a.name: there are two tasks with the name "a"'],
    ],
  ])('%s', (_, tasks, expected) => {
    expect(problems({ name: 'w', tasks })).toEqual(expected)
  })
})
