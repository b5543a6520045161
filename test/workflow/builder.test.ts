import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FencepostError } from '../../src/errors.js'
import { task } from '../../src/task/task.js'
import { workflow } from '../../src/workflow/builder.js'
import { readWorkflowText } from '../../src/workflow/workflow-file.js'
import { releaseYaml } from './release.js'

const build = task('ci.build', {
  input: z.object({ version: z.string() }),
  run: ({ version }) => ({ image: `app:${version}` }),
})
const scan = task('ci.scan', { input: z.any(), run: () => null })

const release = workflow('release', {
  parameters: { version: { type: 'string', required: true }, regions: { type: 'array' } },
  vars: { image: null },
  tasks: {
    build: {
      action: build,
      input: { version: '{{ parameters.version }}' },
      retry: {
        count: 3,
        delay: '5s',
        backoff: 'exponential',
        maxDelay: '60s',
        when: "{{ error.code != 'BadInput' }}",
      },
      timeout: '10m',
      next: [
        {
          when: '{{ succeeded() }}',
          publish: { image: '{{ result().image }}' },
          do: ['scan', 'process_items'],
        },
        { when: '{{ failed() || timed_out() }}', do: 'report' },
      ],
    },
    process_items: {
      action: 'ops.deploy',
      withItems: '{{ parameters.regions }}',
      concurrency: 3,
      input: { region: '{{ item }}', n: '{{ index }}' },
      next: [{ when: '{{ succeeded() }}', do: 'validate' }],
    },
    scan: { action: scan, next: [{ do: 'validate' }] },
    validate: { join: 'all', action: 'core.echo' },
    report: { action: 'core.echo' },
  },
  output: { image: '{{ vars.image }}' },
})

describe('a workflow in TypeScript', () => {
  it('is the same definition as in YAML', () => {
    expect({ definition: release.definition }).toStrictEqual(readWorkflowText(releaseYaml, 'release.yaml'))
  })

  it('keeps the tasks that are its actions, each once', () => {
    expect(release.tasks).toEqual([build, scan])
    const twice = workflow('twice', { tasks: { a: { action: scan, next: [{ do: 'b' }] }, b: { action: scan } } })
    expect(twice.tasks).toEqual([scan])
  })

  it('may call another, by its name, and keeps it', () => {
    const outer = workflow('outer', {
      tasks: {
        inner: { action: release, input: { version: '1' }, next: [{ do: 'again' }] },
        again: { action: release },
      },
    })
    expect(outer.definition.tasks.map(({ action }) => action)).toEqual(['workflow.release', 'workflow.release'])
    expect(outer.workflows).toEqual([release])
    expect(outer.tasks).toEqual([])
  })

  it('spells its options as TypeScript does, with numbers for milliseconds', () => {
    const { definition } = workflow('w', {
      timeout: 60_000,
      tasks: {
        deploy: {
          action: 'ops.deploy',
          withItems: { region: ['eu', 'us'], size: [1, 2] },
          batchSize: 2,
          onItemFailure: 'continue',
          delay: 1_500,
          timeout: 250,
          retry: { delay: 100, maxDelay: 400 },
          next: [{ do: 'ask' }],
        },
        ask: { waitFor: { approval: { title: 'Go?', form: { why: 'string' }, expires: 3_000 } } },
      },
    })
    expect(definition).toMatchObject({
      timeoutMs: 60_000,
      tasks: [
        {
          items: { of: { region: ['eu', 'us'], size: [1, 2] }, zipped: true, batchSize: 2, onFailure: 'continue' },
          delayMs: 1_500,
          timeoutMs: 250,
          retry: { delayMs: 100, maxDelayMs: 400 },
        },
        { action: 'wait.approval', input: { title: 'Go?', expires: '3000ms' } },
      ],
    })
  })
})

describe('a workflow that is wrong', () => {
  it('is refused with everything that is wrong, in the words of the builder', () => {
    const make = () =>
      workflow('broken', {
        vars: { image: null },
        tasks: {
          build: {
            action: 'core.ecko',
            batchSize: 3,
            next: [{ when: '{{ vars.imag == 1 }}', do: 'deploy' }],
          },
          deploy: { action: 'ops.deploy', retry: { delay: '5m', maxDelay: '5s' }, withItems: [] },
        },
      })
    expect(make).toThrow(FencepostError)
    expect(make).toThrow(
      [
        'The definition of a workflow is not valid: broken',
        '',
        'tasks.build.batchSize  batchSize needs withItems',
        '  It says how a list is worked through, and this task has none.',
        '',
        'tasks.build.action  there is no action "core.ecko"',
        '  Did you mean core.echo?',
        '',
        'tasks.build.next[0].when  unknown var "imag"',
        '  {{ vars.imag == 1 }}',
        '          ^^^^',
        '  Did you mean image?',
        '',
        'tasks.deploy.retry.maxDelay  maxDelay is shorter than delay',
        '  Every delay would be cut to it. Write delay alone, or a longer maxDelay.',
      ].join('\n'),
    )
    expect(make).toThrow(expect.objectContaining({ code: 'FP_WORKFLOW_INVALID' }) as Error)
  })

  it.each<[string, unknown, RegExp]>([
    ['no options', undefined, /a workflow is empty/],
    ['no tasks', {}, /the workflow has no tasks/],
    ['a task that is none', { tasks: { a: 'core.noop' } }, /tasks\[0\] {2}entry 1 of tasks must be a mapping/],
    ['an action that is none', { tasks: { a: { action: {} } } }, /action must be the name of a registered task/],
    [
      'a misspelt option',
      { tasks: { a: { action: 'x', withItms: [] } } },
      /unknown key "withItms".*\n.*mean withItems/,
    ],
  ])('is refused if plain JavaScript gives %s', (_, options, expected) => {
    expect(() => workflow('w', options as never)).toThrow(expected)
  })
})
