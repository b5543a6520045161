import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/job/json.js'
import { limits } from '../../src/limits.js'
import { compileExpression, type ExpressionError, type Scope, type ScopeName } from '../../src/workflow/expression.js'
import { refusal } from './refusal.js'

const everything: readonly ScopeName[] = [
  'parameters',
  'vars',
  'tasks',
  'item',
  'index',
  'run',
  'error',
  'attempt',
  'ending',
]
const scope: Scope = {
  parameters: { n: 5, zero: 0, regions: ['eu', 'us'], id: 9007199254740991, tiny: 1e-9 },
  vars: { image: 'shop:1', tag: null, count: 2, 'a-b': 1, flags: { on: true }, constructor: 'own' },
  tasks: { build: { status: 'succeeded', result: { files: [{ name: 'a' }, { name: 'b' }] } } },
  item: { price: 2.5 },
  index: 0,
  status: 'succeeded',
  result: [1, 2],
}

const evaluate = (cel: string, given: Scope = scope) => compileExpression(`{{ ${cel} }}`, everything).evaluate(given)

/** What the caret points at. */
const pointedAt = ({ source, offset, length }: ExpressionError) => source.slice(offset, offset + length)

describe('an expression gives', () => {
  it.each<[string, Json]>([
    // numbers are those of JSON, wherever they come from
    ['1 + 1.5', 2.5],
    ['index + 1', 1],
    ['parameters.n / 2', 2.5],
    ['5 / 2', 2.5],
    ['item.price * 3', 7.5],
    ['size(parameters.regions) - 0.5', 1.5],
    ['size(parameters.regions) == 2.0', true],
    ['parameters.n > 4.9 && 4.9 < parameters.n', true],
    ['-parameters.n % 3', -2],
    ['2 + 3 * 4 - 6 / 3', 12],
    ['(2 + 3) * 4', 20],
    ['0.1 + 0.2', 0.1 + 0.2],
    ['1e300 * 10', 1e301],
    ['parameters.id', Number.MAX_SAFE_INTEGER],
    ['-9007199254740991', -Number.MAX_SAFE_INTEGER],
    ['0xff', 255],
    ['parameters.tiny + 0', 1e-9],
    // equality is of values
    ["{'a': [1, null]} == {'a': [1.0, null]}", true],
    ["{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", true],
    ["{'a': 1} == {'b': 1}", false],
    ['[1, 2] == [1]', false],
    ["null == false || 0 == '' || [] == {}", false],
    ["1 != '1'", true],
    ['vars.tag == null', true],
    ["{'a': 1} == {'a': 1, 'b': 2}", false],
    ['[1, 2] == [1, 3]', false],
    ["{'a': 1} == {'a': 2}", false],
    ["{'a': 1} == 1 || 1 == {'a': 1} || [1] == 1 || [1] == {'0': 1}", false],
    // what is equal is not before or after
    ['1 < 1 || 1 > 1', false],
    ['1 <= 1 && 1 >= 1', true],
    ["'a' < 'a' || 'a' > 'a'", false],
    // order is by characters, also outside of the basic plane
    ["'\uFF01' < '😀'", true],
    ["'a' < 'ab'", true],
    ["'B' < 'a'", true],
    // names and members
    ['vars.constructor', 'own'],
    ["vars['a-b']", 1],
    ["vars['im' + 'age']", 'shop:1'],
    ['tasks.build.result.files[index + 1].name', 'b'],
    ['[[1, 2], [3]][0][1]', 2],
    ["{'a': {'b': 1}}.a.b", 1],
    ["'on' in vars.flags", true],
    ["'toString' in vars", false],
    ['[1] in [[1], 2]', true],
    // logic goes from left to right
    ['true || vars.missing', true],
    ['false && vars.missing', false],
    ['index == 0 ? 1 : vars.missing', 1],
    ['false ? 1 : true ? 2 : 3', 2],
    ['!(1 > 2)', true],
    // has and default
    ['has(vars.image)', true],
    ['has(vars.tag)', true],
    ['has(vars.flags.off)', false],
    ['has(vars.tag.deeper.still)', false],
    ['has(vars.image.length)', false],
    ['has(result()[1])', true],
    ['has(result()[2])', false],
    ["has(vars['a-b'])", true],
    ["has(vars['flags'].on) && has(vars.flags['on'])", true],
    ['has(tasks.build.result.files[1].name)', true],
    ['has(tasks.build.result.files[2].name)', false],
    ["default(tasks.build.result['files'][index].name, 'none')", 'a'],
    ['has(vars.flags[0]) || has(result()["0"])', false],
    ['vars.missing.has()', false],
    ['default(vars.tag, 1)', 1],
    ['default(vars.flags.off, vars.image)', 'shop:1'],
    ['default(vars.flags.on, false)', true],
    ['default(false, true)', false],
    ['default(first([]), 7)', 7],
    ['vars.missing.default(3)', 3],
    // loops, one inside the other; the variable hides a name only inside
    [
      '[1, 2].map(x, [10, 20].map(y, x + y))',
      [
        [11, 21],
        [12, 22],
      ],
    ],
    ['[1, 2].map(x, [x * 10].map(x, x)[0] + x)', [11, 22]],
    ['[1].map(vars, vars + 1) + [vars.count]', [2, 2]],
    ['[3, 4].filter(item, item > 3)', [4]],
    ['[3, 4].all(x, x > 2)', true],
    ['[3, 4].all(x, x > 3)', false],
    ['[].all(x, false)', true],
    ['[3, 4, 5].exists_one(x, x > 4)', true],
    ['[3, 4, 5].exists_one(x, x > 3)', false],
    ['[3, 4, 5].exists_one(x, x > 5)', false],
    ['[3, 4, 5].map(x, x > 3, x * 2)', [8, 10]],
    ['map([1], x, x)', [1]],
    ['vars.flags.exists(k, vars.flags[k])', true],
    ['[1, 2].sortBy(x, -x)', [2, 1]],
    // the ending of a task
    ['succeeded()', true],
    ['result()', [1, 2]],
    ['result().sum()', 3],
    // what is not given is null
    ['error == null && run == null', true],
    // written over several lines, with a comment
    ['1 + // one: it’s\r\n  1', 2],
    ["6 / 2 + size('a//b')", 7],
    ["size({'a': {'b': {}}})", 1],
    ["'''a\nb'''", 'a\nb'],
    ["'\\u00e9\\x41\\n'", 'éA\n'],
  ])('%s → %j', (cel, value) => {
    expect(evaluate(cel)).toEqual(value)
  })

  it.each<[Scope['status'] & string, boolean, boolean, boolean]>([
    ['succeeded', true, false, false],
    ['failed', false, true, false],
    ['timed_out', false, true, true],
    ['cancelled', false, true, false],
  ])('succeeded(), failed() and timed_out() of a task that %s', (status, ...endings) => {
    expect(evaluate('[succeeded(), failed(), timed_out()]', { status })).toEqual(endings)
  })

  it('never -0, which would not survive being stored', () => {
    for (const cel of [
      '-parameters.zero',
      '0 * -1',
      'ceil(-0.5)',
      'round(-0.2)',
      'int(-0.5)',
      'floor(-parameters.zero)',
    ]) {
      expect(evaluate(cel), cel).toBe(0)
    }
  })
})

describe('an expression that fails at run time', () => {
  it.each<[string, string, string, (string | null)?]>([
    [
      'vars.imgae',
      'vars has no imgae',
      'imgae',
      'Did you mean image? It has a-b, constructor, count, flags, image, tag.',
    ],
    ["vars['imgae']", 'vars has no imgae', "'imgae'"],
    ["vars['im' + 'agine']", 'vars has no such key', "'im' + 'agine'"],
    [
      "vars['ima' + 'gee']",
      'vars has no such key',
      "'ima' + 'gee'",
      'It has a-b, constructor, count, flags, image, tag.',
    ],
    ['{}.a', '{} has no a', 'a', 'It is empty.'],
    [
      'vars.tag.name',
      'vars.tag is null, so it has no name',
      'name',
      'has(x.y) asks whether it is there; default(x.y, other) gives something else if it is not.',
    ],
    ['vars.tag[0]', 'vars.tag is null, so it has no members', '0'],
    ['vars.image.length', 'vars.image is a string and has no members', 'length'],
    [
      'parameters.regions.length',
      'parameters.regions is a list: it has items, not members with names',
      'length',
      'Write size(list).',
    ],
    ...['size', 'count'].map((name): [string, string, string, string] => [
      `vars.missing.default([1]).${name}`,
      'vars.missing.default([1]) is a list: it has items, not members with names',
      name,
      'Write size(list).',
    ]),
    [
      'parameters.regions.eu',
      'parameters.regions is a list: it has items, not members with names',
      'eu',
      'Write list[0] for its first item.',
    ],
    ['parameters.regions[2]', 'there is no such item: parameters.regions has 2 items, counted from 0', '2', null],
    ['[][0]', 'there is no such item: [] has 0 items, counted from 0', '0', null],
    ['[7][1]', 'there is no such item: [7] has 1 item, counted from 0', '1'],
    ["['a',\n][1]", 'there is no such item: this has 1 item, counted from 0', '1'],
    [`['${'a'.repeat(56)}'][1]`, `there is no such item: ['${'a'.repeat(56)}'] has 1 item, counted from 0`, '1'],
    [`['${'a'.repeat(57)}'][1]`, 'there is no such item: this has 1 item, counted from 0', '1'],
    [
      'parameters.regions[-1]',
      'there is no such item: parameters.regions has 2 items, counted from 0',
      '-1',
      'last(list) gives the last item.',
    ],
    ['parameters.regions[0.5]', 'an index is a whole number', '0.5', 'floor(x) cuts off the fraction.'],
    ['parameters.regions[true]', 'an index is a number, not a boolean', 'true'],
    ['vars[0]', 'a key of an object is a string, not a number', '0'],
    ['1 / parameters.zero', 'division by zero', '1 / parameters.zero'],
    ['1 % 0', 'division by zero', '1 % 0'],
    ['1e300 * 1e300', 'the number is too large', '1e300 * 1e300'],
    [
      'parameters.id + 1',
      'the whole number is too large to be exact',
      'parameters.id + 1',
      'Beyond 9007199254740991, keep it as a string.',
    ],
    ['parameters.id * 2', 'the whole number is too large to be exact', 'parameters.id * 2'],
    ['-parameters.id - 1', 'the whole number is too large to be exact', '-parameters.id - 1'],
    ["'a' + 1", '+ cannot join a string and a number', "'a' + 1", 'string(x) makes a string of anything.'],
    ["1 + 'a'", '+ cannot join a number and a string', "1 + 'a'", 'string(x) makes a string of anything.'],
    ["[1] + 'a'", '+ cannot join a list and a string', "[1] + 'a'", 'string(x) makes a string of anything.'],
    ['vars + 1', '+ cannot join an object and a number', 'vars + 1', null],
    ['1 + vars', '+ cannot join a number and an object', '1 + vars', null],
    ['[1] + 2', '+ cannot join a list and a number', '[1] + 2', 'To add one item to a list, write list + [item].'],
    ['vars + vars', '+ cannot join an object and an object', 'vars + vars', 'merge(a, b) joins objects.'],
    [
      "1 - '1'",
      '- needs two numbers, not a number and a string',
      "1 - '1'",
      'int(text) and double(text) read a number from a string.',
    ],
    [
      "'1' - 1",
      '- needs two numbers, not a string and a number',
      "'1' - 1",
      'int(text) and double(text) read a number from a string.',
    ],
    ['true * 1', '* needs two numbers, not a boolean and a number', 'true * 1', null],
    ['-vars.image', '- needs two numbers, not a number and a string', '-vars.image'],
    ["1 < '2'", '< compares two numbers or two strings, not a number and a string', "1 < '2'"],
    ["'2' < 1", '< compares two numbers or two strings, not a string and a number', "'2' < 1"],
    ['true < 1', '< compares two numbers or two strings, not a boolean and a number', 'true < 1'],
    ['true < false', '< compares two numbers or two strings, not a boolean and a boolean', 'true < false', null],
    ['null >= null', '>= compares two numbers or two strings, not null and null', 'null >= null'],
    [
      "'a' in 'abc'",
      '“in” looks into a list or the keys of an object, not into a string',
      "'a' in 'abc'",
      'contains(text, part) looks into a string.',
    ],
    ['1 in 2', '“in” looks into a list or the keys of an object, not into a number', '1 in 2', null],
    ['1 in vars', 'a key of an object is a string, not a number', '1 in vars'],
    ['1 && true', 'a side of && must be true or false, not a number', '1'],
    ["false || 'yes'", 'a side of || must be true or false, not a string', "'yes'"],
    ['!vars.tag', 'what stands behind ! must be true or false, not null', 'vars.tag'],
    ['vars.image ? 1 : 2', 'the condition before ? must be true or false, not a string', 'vars.image'],
    ['vars.missing || true', 'vars has no missing', 'missing'],
    ['true && vars.missing', 'vars has no missing', 'missing'],
    ['[1].exists(x, vars.missing || x == 1)', 'vars has no missing', 'missing'],
    ['[0, 1].exists(x, 1 / x > 0)', 'division by zero', '1 / x'],
    ['[1].filter(x, x)', 'the condition of filter() must give true or false, not a number', 'x'],
    ["'abc'.map(x, x)", 'map() goes through a list or the keys of an object, not through a string', "'abc'"],
    ["{vars.image: 1, 'shop:1': 2}", 'the object has this key already', "'shop:1'"],
    ['{parameters.n: 1}', 'a key of an object is a string, not a number', 'parameters.n'],
    ['lower(vars.count)', 'lower() needs a string here, not a number', 'vars.count', 'string(x) makes a string of it.'],
    ['vars.count.lower()', 'lower() needs a string here, not a number', 'vars.count'],
    ['range(item.price)', 'range() needs a whole number here, not one with a fraction', 'item.price'],
    ['default(vars.missing, vars.absent)', 'vars has no absent', 'absent'],
    ["'\\x00'", 'this gives text with the character U+0000', "{{ '\\x00' }}"],
  ])('%s', (cel, problem, place, hint) => {
    const error = refusal(() => evaluate(cel))
    expect(error.problem).toBe(problem)
    expect(pointedAt(error)).toBe(place)
    if (hint !== undefined) expect(error.hint ?? null).toBe(hint)
    expect(error.text.split('\n')[0]).toBe(problem)
  })

  it('says that the task has not ended, instead of taking it for a failure', () => {
    expect(refusal(() => evaluate('failed()', {})).problem).toBe('the task has not ended')
  })

  it('is ended after so many steps, and says what to do instead', () => {
    const error = refusal(() => evaluate('range(2000).map(x, range(2000).map(y, 1))'))
    expect(error.problem).toBe('this takes more than 2,000,000 steps')
    expect(error.hint).toBe('Use fewer loops inside loops, or shorter lists; larger work belongs into a task.')
  })

  it('guesses no key that is long, nor for one that is', () => {
    const [sixty, more] = ['x'.repeat(60), 'x'.repeat(61)]
    const hint = (cel: string, vars: Json) => refusal(() => evaluate(cel, { vars })).hint
    expect(hint(`vars.${sixty.replace('x', 'y')}`, { [sixty]: 1 })).toBe(`Did you mean ${sixty}? It has ${sixty}.`)
    expect(hint(`vars.${more}`, { [sixty]: 1 })).toBe(`It has ${sixty}.`)
    expect(hint(`vars.${sixty}`, { [more]: 1, b: 1 })).toBe('It has b, ….')
  })

  it('guesses among the first two hundred keys alone: an error must not take long either', () => {
    const vars = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [i === 200 ? 'wanted' : `key${i}`, i]))
    expect(refusal(() => evaluate('vars.wantet', { vars })).hint).toMatch(/^It has /)
  })

  it('names at most ten keys, and no long ones', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`key${i}`, i]))
    const { hint } = refusal(() => evaluate('vars.kee1', { vars: { ...many, ['x'.repeat(100)]: 1 } }))
    expect(hint).toMatch(/^Did you mean key1\? It has (key\d+, ){10}…\.$/)
  })

  it('does not say the values, which may be secret', () => {
    const secret = 'hunter2'
    const given: Scope = { parameters: { secret, list: [secret] }, vars: { a: 1 } }
    for (const cel of [
      'parameters.secret.x',
      'vars[parameters.secret]',
      'parameters.secret + 1',
      'int(parameters.secret)',
      'fromJson(parameters.secret)',
      'toEpochMs(parameters.secret)',
      "matches('', parameters.secret + '(')",
      'sum(parameters.list)',
      'parameters.list.sortBy(x, [x])',
      'zip(parameters.list, [])',
    ]) {
      const { message, hint, text } = refusal(() => evaluate(cel, given))
      expect(`${message} ${hint} ${text}`, cel).not.toContain(secret)
    }
  })
})

describe('an expression is checked when it is compiled', () => {
  const compile = (cel: string, names = everything) => compileExpression(`{{ ${cel} }}`, names)
  const inRetry: readonly ScopeName[] = ['error', 'attempt']
  const inInput: readonly ScopeName[] = ['parameters', 'vars', 'tasks', 'run']

  it.each<[string, readonly ScopeName[], string, string, (string | null)?]>([
    [
      'parametres.x',
      inInput,
      'parametres is not known',
      'parametres',
      'Did you mean parameters? Known here: parameters, vars, tasks, run.',
    ],
    [
      'item.x',
      inInput,
      'item is only known in the `input` of a task with `with_items`',
      'item',
      'Known here: parameters, vars, tasks, run.',
    ],
    ['index', inInput, 'index is only known in the `input` of a task with `with_items`', 'index'],
    ['error.code', inInput, 'error is only known in `next` of a task and in `retry.when`', 'error'],
    ['attempt > 1', inInput, 'attempt is only known in `retry.when`', 'attempt'],
    ['result().x', inInput, 'result() is only known in `next` of a task', 'result'],
    [
      'succeeded()',
      inRetry,
      'succeeded() is only known in `next` of a task',
      'succeeded',
      'Known here: error, attempt.',
    ],
    [
      'vars.x == 1',
      inRetry,
      'vars is only known once the run has begun: not where `vars` get their first values, nor in `retry.when`',
      'vars',
    ],
    ['parameters.x', inRetry, 'parameters is only known outside of `retry.when`', 'parameters'],
    ['x', [], 'x is not known', 'x', 'No names are known here.'],
    ['[1].map(x, x) + [x]', [], 'x is not known', 'x'],
    ['[1].map(number, nmber)', [], 'nmber is not known', 'nmber', 'Did you mean number? Known here: number.'],
    ['result.x', everything, 'result is a function', 'result', 'Write result().'],
    ['size > 1', everything, 'size is a function', 'size', 'Write size(…).'],
    ['vars()', everything, 'vars is a value, not a function', 'vars'],
    [
      'tasks.scan-image.result',
      inInput,
      'image is not known',
      'image',
      "A name with a dash is written in brackets: tasks['a-name']. Known here: parameters, vars, tasks, run.",
    ],
    [
      '{image: 1}',
      inInput,
      'image is not known',
      'image',
      "The keys of an object stand in quotes: {'key': value}. Known here: parameters, vars, tasks, run.",
    ],
    [
      'uper(vars.x)',
      everything,
      'there is no function uper()',
      'uper',
      'Did you mean upper? docs/reference/expressions.md lists the functions.',
    ],
    ['vars.x.uper()', everything, 'there is no function uper()', 'uper'],
    [
      'vars.x . // uper\n fliter(y, true)',
      everything,
      'there is no function fliter()',
      'fliter',
      'Did you mean filter? docs/reference/expressions.md lists the functions.',
    ],
    [
      'sucseeded()',
      everything,
      'there is no function sucseeded()',
      'sucseeded',
      'Did you mean succeeded? docs/reference/expressions.md lists the functions.',
    ],
    ['len(vars)', everything, 'there is no function len()', 'len', 'Write size(x).'],
    [
      'now()',
      everything,
      'there is no function now()',
      'now',
      'An expression gives the same whenever it is evaluated; a time has to come from a parameter or a result.',
    ],
    ['constructor()', everything, 'there is no function constructor()', 'constructor'],
    [
      'cel.bind(x, 1, x)',
      everything,
      'there is no function bind()',
      'bind',
      'Publish the value as one of `vars` first.',
    ],
    ["split('a')", everything, 'split(text, separator) takes 2 arguments, not 1', "split('a')", null],
    [
      "'a'.split()",
      everything,
      'split(text, separator) takes 2 arguments, not 1',
      "'a'.split()",
      'What stands before the dot is the first argument.',
    ],
    ['round()', everything, 'round(number, digits?) takes 1 to 2 arguments, not 0', 'round()'],
    ['zip([1])', everything, 'zip(list, list, …) takes 2 arguments or more, not 1', 'zip([1])'],
    ['first()', everything, 'first(list) takes 1 argument, not 0', 'first()'],
    ['result(1)', everything, 'result() takes no arguments, not 1', 'result(1)', null],
    [
      'vars.result()',
      everything,
      'result() takes no arguments, not 1',
      'vars.result()',
      'What stands before the dot is the first argument.',
    ],
    ['vars.all(x)', everything, 'list.all(x, condition) takes 3 arguments, not 2', 'vars.all(x)'],
    [
      'has(vars)',
      everything,
      'has() asks for a member of something',
      'vars',
      "Write it like has(vars.image) or has(x['a key']).",
    ],
    ['has(size(vars))', everything, 'has() asks for a member of something', 'size(vars)'],
    [
      '[1].map(1, 2)',
      everything,
      'the variable must be a plain name',
      '1',
      'Write it like list.map(x, x.price): x stands for each item in turn.',
    ],
    [
      'map([1], x.y, 2)',
      everything,
      'the variable must be a plain name',
      'x.y',
      'Write it like list.map(x, value): x stands for each item in turn.',
    ],
    // what is written out is checked at once
    ['size(3)', everything, 'size() needs a string, a list or an object here, not a number', '3'],
    ['split(vars.x, 1)', everything, 'split() needs a string here, not a number', '1'],
    ["vars.x.matches('(a')", everything, 'matches() cannot use this pattern: a ( is not closed', "'(a'"],
    [
      '9007199254740993',
      everything,
      'the whole number is too large to be exact',
      '9007199254740993',
      'Write it as a string.',
    ],
    ["b'abc'", everything, 'there are no bytes in JSON', "b'abc'", 'Write it without b.'],
    ['5u', everything, 'there is one kind of number here', '5u', 'Write it without u.'],
    // syntax
    ['1 +', everything, 'the expression ends too early', ' '],
    ['(1', everything, ') is missing here: the expression ends', ' ', null],
    ['(1 two', everything, ') is missing here: there is “two”', 'two', null],
    ['(1 @', everything, '@ cannot stand here', '@', null],
    ['[1, 2', everything, '] is missing here: the expression ends', ' '],
    ['1 2', everything, '“2” cannot stand here', '2'],
    ['vars.x = 1', everything, '= cannot stand here', '=', 'To compare, write ==.'],
    [
      'vars.x | upper',
      everything,
      '| cannot stand here',
      '|',
      'Write || for “or”. Functions are called: upper(x) or x.upper().',
    ],
    ['true and false', everything, '“and” cannot stand here', 'and', 'Write && for “and”.'],
    ['vars.x ?? 1', everything, '?? cannot stand here', '??', 'Write default(x, other).'],
    ['vars?.x', everything, '. cannot stand here', '.'],
    ['vars.?x', everything, 'a name is missing here: there is ?', '?'],
    [
      'vars.in',
      everything,
      'a name is missing here: there is “in”',
      'in',
      "A key that is no plain name is written in brackets: x['in'].",
    ],
    ['if vars.x', everything, 'if is a reserved word', 'if', 'A choice is written condition ? value : other.'],
    ['“a”', everything, '“ cannot stand here', '“', 'Strings stand in straight quotes: \' or ".'],
    ["'\\q'", everything, 'invalid escape sequence: \\q', '\\q'],
    ["'\\ud800'", everything, 'invalid Unicode surrogate: \\ud800', '\\ud800'],
    ['1e999', everything, 'invalid number: Infinity', '1e999'],
    ['π', everything, 'π cannot stand here', 'π'],
  ])('%s', (cel, names, problem, place, hint) => {
    const error = refusal(() => compile(cel, names))
    expect(error.problem).toBe(problem)
    expect(pointedAt(error)).toBe(place)
    if (hint !== undefined) expect(error.hint ?? null).toBe(hint)
  })

  it.each<[string, string]>([
    ['vars.x', 'this must be one expression and nothing else'],
    ['', 'this must be one expression and nothing else'],
    ['{{ 1 }} and {{ 2 }}', 'this must be one expression and nothing else'],
    ['yes {{ 1 }}', 'this must be one expression and nothing else'],
    ['{{ }}', 'there is no expression between {{ and }}'],
    ['{{ 1', '{{ is not closed'],
    ["{{ 'a\r\n' }}", "the string that begins with ' is not closed"],
    ["{{ 'a\r' }}", "the string that begins with ' is not closed"],
    ["{{ '''a }}", "the string that begins with ''' is not closed"],
    ['{{ 1 // 2', '{{ is not closed'],
  ])('and its string is one expression: %s', (text, problem) => {
    expect(refusal(() => compileExpression(text, everything)).problem).toBe(problem)
  })

  it.each<[string, string | undefined]>([
    ['{{ 1', "An expression ends with }}. To write {{ itself, write {{ '{{' }}."],
    ["{{ 'a\n' }}", "A string ends on the line it begins on; one of several lines stands in '''."],
    ["{{ '''a }}", undefined],
  ])('and tells how to close it: %j', (text, hint) => {
    expect(refusal(() => compileExpression(text, everything)).hint).toBe(hint)
  })

  it('and an error points at the name that is called, not at one that looks like it', () => {
    expect(refusal(() => compile("'nosuch' + nosuch(1)")).offset).toBe("{{ 'nosuch' + ".length)
    expect(refusal(() => compile("'nosuch'.nosuch()")).offset).toBe("{{ 'nosuch'.".length)
  })

  it('and an error at its end points behind its last character', () => {
    expect(refusal(() => compile('  1 +  ')).offset).toBe('{{   1 +'.length)
  })

  it('and may stand between white space, as YAML folds it', () => {
    expect(compileExpression(' {{ 1 + 1 }}\n', []).evaluate({})).toBe(2)
  })

  it.each([
    ['parentheses', `${'('.repeat(5_000)}1${')'.repeat(4_000)}`],
    ['lists', '['.repeat(5_000)],
    ['maps', `${"{'a':".repeat(900)}1${'}'.repeat(900)}`],
    ['negations', `${'!'.repeat(9_000)}true`],
    ['signs', `${'-'.repeat(9_000)}1`],
    ['sums', `1${'+1'.repeat(4_900)}`],
    ['short sums', `1${'+1'.repeat(limits.expressionDepthMax)}`],
    ['members', `vars${'.x'.repeat(4_000)}`],
    ['asked members', `has(vars${'.x'.repeat(limits.expressionDepthMax)})`],
    ['choices', `${'true ? 1 : '.repeat(900)}1`],
    ['calls', 'size('.repeat(1_900)],
    ['loops', '[1].map(x, '.repeat(800)],
    ['digits', '1'.repeat(9_000)],
    ['characters', `'${'a'.repeat(limits.expressionLengthMax)}'`],
  ])('and is not too large: %s', (_, cel) => {
    const before = process.cpuUsage()
    expect(refusal(() => compile(cel)).problem).toMatch(
      /nested deeper|more than 5,000 parts|10,000 characters|too large/,
    )
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500)
  })

  it('and is as large as the limit', () => {
    expect(evaluate(`1${'+1'.repeat(limits.expressionDepthMax - 1)}`)).toBe(limits.expressionDepthMax)
    expect(evaluate(`${'('.repeat(90)}1${')'.repeat(90)}`)).toBe(1)
    expect(evaluate(`size([${'1,'.repeat(4_980)}1])`)).toBe(4_981)
    expect(evaluate(`'${'a'.repeat(limits.expressionLengthMax - 4)}'`)).toHaveLength(limits.expressionLengthMax - 4)
    expect(evaluate(`has(vars${'.x'.repeat(limits.expressionDepthMax - 2)})`)).toBe(false)
    // what was closed does not count for what comes after it
    expect(evaluate(Array.from({ length: 60 }, () => 'has(vars.x.y.z)').join(' || '))).toBe(false)
  })
})

describe('what an expression reads', () => {
  it.each<[string, readonly string[], boolean, boolean]>([
    ['vars.x', [], false, false],
    ["tasks.a.result + tasks['b-c'].result + tasks.a.status", ['a', 'b-c'], false, false],
    ['has(tasks.a.result.x) && default(tasks.b.result, 1) == 1', ['a', 'b'], false, false],
    ['has(tasks.a)', ['a'], false, false],
    ['tasks[vars.name].result', [], true, false],
    ['tasks[0]', [], true, false],
    ['keys(tasks)', [], true, false],
    ['tasks.map(name, tasks[name].status)', [], true, false],
    ['[1].map(tasks, tasks)', [], false, false],
    ['[{}].map(tasks, tasks.x)', [], false, false],
    ['has(result().x)', [], false, true],
    ['succeeded() || failed()', [], false, false],
    ['vars.a.tasks + run.tasks.b', [], false, false],
    ['vars.result', [], false, false],
    ['[1].map(result, result)', [], false, false],
  ])('%s', (cel, taskNames, usesAllTasks, usesResult) => {
    const { taskNames: names, ...rest } = compileExpression(`{{ ${cel} }}`, everything)
    expect({ taskNames: [...names].sort(), usesAllTasks: rest.usesAllTasks, usesResult: rest.usesResult }).toEqual({
      taskNames,
      usesAllTasks,
      usesResult,
    })
  })
})

describe('a condition', () => {
  const test = (cel: string) => compileExpression(`{{ ${cel} }}`, everything).test(scope)

  it('holds only if it gives true', () => {
    expect([test('1 < 2'), test('1 > 2')]).toEqual([true, false])
  })

  it.each(["'true'", '1', 'null', 'vars', '[true]'])('fails if it gives no boolean: %s', (cel) => {
    expect(refusal(() => test(cel)).problem).toMatch(/^a condition must give true or false, and this gives /)
  })

  it('fails if its expression does', () => {
    expect(refusal(() => test('vars.missing')).problem).toBe('vars has no missing')
  })
})

describe('nothing but JSON goes in or out', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('vars.%s is not reached', (key) => {
    expect(refusal(() => evaluate(`vars.${key}`, { vars: {} })).problem).toBe(`vars has no ${key}`)
    expect(evaluate(`has(vars.${key})`, { vars: {} })).toBe(false)
    expect(evaluate(`'${key}' in vars`, { vars: {} })).toBe(false)
    expect(evaluate(`default(vars['${key}'], 0)`, { vars: {} })).toBe(0)
    expect(refusal(() => evaluate(`'text'.${key}`)).problem).toBe("'text' is a string and has no members")
    expect(refusal(() => evaluate(`[].${key}`)).problem).toMatch(/^\[\] is a list/)
  })

  it.each([
    "{'__proto__': {'polluted': true}}",
    "fromEntries([['__proto__', {'polluted': true}]])",
    'merge(vars, vars)',
    "pick(vars, ['__proto__'])",
    "omit(vars, ['a'])",
    'fromJson(toJson(vars))',
  ])('a key named __proto__ is a key like others: %s', (cel) => {
    const vars = JSON.parse('{"__proto__":{"polluted":true}}') as Json
    const made = evaluate(cel, { vars }) as object
    expect(JSON.stringify(made)).toBe('{"__proto__":{"polluted":true}}')
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it.each<[string, unknown]>([
    ['a function', () => 1],
    ['a BigInt', 1n],
    ['undefined', undefined],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a Date', new Date(0)],
    ['a Map', new Map([['a', 1]])],
    ['bytes', new Uint8Array(2)],
    ['a symbol', Symbol('x')],
    ['half a character', 'a\ud800'],
    ['U+0000', 'a\u0000'],
  ])('%s in a value is refused', (_, value) => {
    expect(refusal(() => evaluate('vars', { vars: { a: [value as Json] } })).problem).toMatch(/^this gives /)
    expect(refusal(() => evaluate('[vars.a]', { vars: { a: [value as Json] } })).problem).toMatch(/^this gives /)
  })

  it('a getter that throws is an error of the expression', () => {
    const vars = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new TypeError('from the outside')
      },
    }) as Json
    const error = refusal(() => evaluate('vars.x', { vars }))
    expect(error.problem).toBe('the expression could not be evaluated')
    expect(error.cause).toBeInstanceOf(TypeError)
  })

  it('nothing is changed', () => {
    const vars = { list: [3, 1, 2], object: { b: 1, a: 2 } }
    const before = structuredClone(vars)
    for (const cel of [
      'sort(vars.list)',
      'reverse(vars.list)',
      'vars.list + [4]',
      'keys(vars.object)',
      "merge(vars.object, {'c': 1})",
      'vars.list.sortBy(x, -x)',
      "omit(vars.object, ['a'])",
    ]) {
      evaluate(cel, { vars })
      expect(vars, cel).toEqual(before)
    }
  })

  it('what is nested too deeply is refused, not followed', () => {
    let vars: Json = 1
    for (let i = 0; i < 100_000; i++) vars = [vars]
    for (const cel of [
      'vars',
      'toJson(vars)',
      'vars == [vars]',
      'string(vars)',
      'unique([vars])',
      '[1] in [vars, [vars]] || vars == vars[0]',
    ]) {
      expect(refusal(() => evaluate(cel, { vars })).problem, cel).toMatch(/nested deeper than 100 levels/)
    }
    const text = '['.repeat(100_000) + ']'.repeat(100_000)
    expect(refusal(() => evaluate('fromJson(vars)', { vars: text })).problem).toMatch(/nested deeper than 100 levels/)
  })
})
