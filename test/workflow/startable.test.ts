import { describe, expect, it } from 'vitest'
import { defaults } from '../../src/limits.js'
import { jobActions, neededTasks, startable } from '../../src/workflow/startable.js'
import { workflowOf } from '../harness/workflow-of.js'

const { definition } = workflowOf(`
name: release
parameters: { version: { type: string, required: true }, count: { type: integer, default: 3 } }
tasks:
  - { name: build, action: ci.build }
  - { name: again, action: ci.build }
  - { name: deploy, action: ops.deploy }
  - { name: sub, action: workflow.inner }
  - { name: say, action: core.echo }
  - { name: wait, wait_for: { signal: go } }
`)

it('the registered tasks of a workflow are named once each, without what needs no worker', () => {
  expect(jobActions(definition)).toEqual(['ci.build', 'ops.deploy'])
})

it('the code of those is needed that have keys of gates', () => {
  const known = new Map([
    ['ci.build', { keyed: false }],
    ['ops.deploy', { keyed: true }],
    ['other', { keyed: true }],
  ])
  expect(neededTasks(definition, known)).toEqual(['ops.deploy'])
  expect(neededTasks(definition, new Map())).toEqual([])
})

describe('a workflow that is called', () => {
  const { version, needs, check } = startable({ version: 3, definition }, ['ops.deploy'])

  it('has its version, and the code that it needs', () => {
    expect({ version, needs }).toEqual({ version: 3, needs: ['ops.deploy'] })
  })

  it('takes parameters that fit, with their defaults', () => {
    expect(check({ version: '1' })).toEqual({ parameters: { version: '1', count: 3 } })
  })

  it('refuses others, with all that is wrong with them', () => {
    expect(check({ count: 'x', more: 1 })).toEqual({
      problem: expect.stringMatching(/^workflow release: .*version.*; .*count/),
    })
  })

  it('refuses what is too large to be checked', () => {
    expect(check({ version: 'x'.repeat(defaults.payloadBytesMax) })).toEqual({
      problem: expect.stringMatching(/^workflow release: .*more than \d+ bytes/),
    })
  })

  it('cannot begin while nobody knows a task of it', () => {
    const unknown = startable({ version: 3, definition }, [], ['ci.build', 'ops.deploy'])
    expect(unknown.check({ version: '1' })).toEqual({
      problem: 'no worker has ever known ci.build, ops.deploy, of workflow release',
    })
  })
})
