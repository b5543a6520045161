import { expect, it } from 'vitest'
import { GateDisputes } from '../../src/client/gate-disputes.js'
import { Events } from '../../src/events.js'

it('forgets the keys that it saw first, so that any number of them costs a bounded memory', () => {
  const events = new Events()
  const disputed: string[] = []
  events.on('gate_disputed', ({ key }) => disputed.push(key))
  const disputes = new GateDisputes(events)
  const declare = (task: string, key: number, limit: number) =>
    disputes.hear(task, { key: `gate:${key}`, limit, onFull: 'wait' })

  for (let key = 0; key <= 10_000; key++) declare('a', key, 1)
  declare('b', 1, 2)
  declare('b', 0, 2) // forgotten: this is the first word on it
  expect(disputed).toEqual(['gate:1'])
})

it('says nothing of a group that has no limit for all', () => {
  const events = new Events()
  const disputed: string[] = []
  events.on('gate_disputed', ({ key }) => disputed.push(key))
  const disputes = new GateDisputes(events)
  disputes.hear('a', { key: 'group:g', local: 1, onFull: 'wait' })
  disputes.hear('b', { key: 'group:g', limit: 2, onFull: 'wait' })
  expect(disputed).toEqual([])
})
