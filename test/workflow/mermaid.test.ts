import { describe, expect, it } from 'vitest'
import { workflow } from '../../src/workflow/builder.js'
import { mermaid } from '../../src/workflow/mermaid.js'
import { readWorkflowText } from '../../src/workflow/workflow-file.js'
import { releaseYaml } from './release.js'

describe('the graph of a workflow as Mermaid', () => {
  it('shows tasks, transitions with their conditions, joins and items', () => {
    const release = readWorkflowText(releaseYaml, 'release.yaml')
    if (!('definition' in release)) throw new Error(release.text)
    expect(mermaid(release.definition)).toBe(`flowchart TD
    start((start))
    t0["build<br/>ci.build<br/>retry: 3<br/>timeout: 10m"]
    t1[["process_items<br/>ops.deploy<br/>items: parameters.regions, 3 in parallel"]]
    t2["scan<br/>ci.scan"]
    t3{{"validate<br/>core.echo<br/>join: all"}}
    t4["report<br/>core.echo"]
    start --> t0
    t0 -->|"succeeded()<br/>publish image"| t2
    t0 -->|"succeeded()<br/>publish image"| t1
    t0 -->|"failed() || timed_out()"| t4
    t1 -->|"succeeded()"| t3
    t2 --> t3
`)
  })

  it('shows waits, commands, batches and whatever could be taken for markup', () => {
    const { definition } = workflow('w', {
      vars: { a: null, b: null },
      tasks: {
        end: {
          action: 'odd "name" <b> #1; `x` & \\n',
          delay: '90s',
          next: [
            { when: '{{ error.code == "A<B>" &&\n   error.message.contains("a very long text") }}', do: 'fail' },
            { when: '{{ failed() }}', do: 'retry' },
            { when: '{{ timed_out() }}', do: 'noop' },
            { publish: { a: 1, b: 2 } },
            { do: ['ask', 'zip', 'list'] },
          ],
        },
        ask: { action: 'core.ask', input: { title: 'Go?' } },
        zip: {
          action: 'x',
          withItems: { left: [1], right: '{{ vars.a }}' },
          batchSize: 5,
          concurrency: '{{ vars.b }}',
        },
        list: { action: 'x', withItems: [1, 2, 3], join: 1, next: [{ do: 'list' }] },
      },
    })
    expect(mermaid(definition)).toBe(`flowchart TD
    start((start))
    t0["end<br/>odd #34;name#34; #60;b#62; #35;1; #96;x#96; #38; #92;n<br/>delay: 90s"]
    t1(["ask<br/>core.ask"])
    t2[["zip<br/>x<br/>items: left, right, 5 at a time, vars.b in parallel"]]
    t3{{"list<br/>x<br/>join: 1<br/>items: a list of 3"}}
    start --> t0
    t0 -->|"error.code == #34;A#60;B#62;#34; #38;#38; error.message.c…"| t0x0((fail))
    t0 -.->|"failed()<br/>retry"| t0
    t0 -->|"timed_out()"| t0x2((noop))
    t0 -->|"publish a, b"| t0x3((continue))
    t0 --> t1
    t0 --> t2
    t0 --> t3
    t3 --> t3
`)
  })

  it('has a node for every task and an edge for every target', () => {
    const names = Array.from({ length: 30 }, (_, i) => `task${i}`)
    const tasks = Object.fromEntries(
      names.map((name, i) => [name, { action: 'core.noop', next: i < 29 ? [{ do: names[i + 1] as string }] : [] }]),
    )
    const lines = mermaid(workflow('chain', { tasks }).definition).split('\n')
    expect(lines.filter((line) => line.includes('core.noop'))).toHaveLength(30)
    expect(lines.filter((line) => line.includes('-->'))).toHaveLength(30)
  })
})
