import { expect, it } from 'vitest'
import { Recent } from '../../src/workflow/expression/recent.js'

/** Two generations of 20 characters: of two keys each. */
function setup() {
  const recent = new Recent<object>(40)
  const made: string[] = []
  const get = (key: string) => recent.get(key, () => ({ made: made.push(key) }))
  return { recent, made, get }
}

it('the same is made once, and the least used ones are dropped', () => {
  const { made, get } = setup()
  expect(get('first-----')).toBe(get('first-----'))
  for (const key of ['second----', 'third-----', 'fourth----', 'fifth-----', 'sixth-----']) {
    get(key)
    get('first-----')
  }
  expect(made).toEqual(['first-----', 'second----', 'third-----', 'fourth----', 'fifth-----', 'sixth-----'])
  get('second----')
  expect(made.at(-1)).toBe('second----')
})

it('as many are kept as their keys have characters together, at least half of that since they were used', () => {
  const { made, get } = setup()
  for (const key of ['a---------', 'b---------', 'c---------', 'd---------']) get(key)
  for (const key of ['d---------', 'c---------', 'b---------', 'a---------']) get(key)
  // b was older and is young again; a, which was older as well, went when c and d did.
  expect(made).toEqual(['a---------', 'b---------', 'c---------', 'd---------', 'a---------'])
})

it('one with a long key is made each time, and drops nothing', () => {
  const { made, get } = setup()
  get('short')
  for (let time = 0; time < 3; time++) get('x'.repeat(21))
  get('short')
  expect(made).toEqual(['short', 'x'.repeat(21), 'x'.repeat(21), 'x'.repeat(21)])
  get('y'.repeat(20))
  get('y'.repeat(20))
  expect(made.filter((key) => key === 'y'.repeat(20))).toHaveLength(1)
})

it('an error is not kept', () => {
  const { recent } = setup()
  const failing = () =>
    recent.get('broken', () => {
      throw new Error('no')
    })
  expect(failing).toThrow('no')
  expect(failing).toThrow('no')
  expect(recent.get('broken', () => setup)).toBe(setup)
})
