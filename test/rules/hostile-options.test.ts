import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { defineConfig } from '../../src/config/config.js'
import { FencepostError } from '../../src/errors.js'
import { limits } from '../../src/limits.js'
import { messageTask } from '../../src/sqs/message-task.js'
import { checkSqsOptions } from '../../src/sqs/sqs-options.js'
import { workflow } from '../../src/workflow/builder.js'
import { rehearse } from '../../src/workflow/rehearsal.js'
import { readWorkflowFile, readWorkflowText } from '../../src/workflow/workflow-file.js'

async function refusal(call: () => unknown): Promise<FencepostError> {
  const thrown: unknown = await Promise.resolve()
    .then(call)
    .catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(FencepostError)
  return thrown as FencepostError
}

const run = () => 1
const noText: unknown[] = [Symbol.iterator, Object.create(null), ['postgres://a'], 5]

describe('what a pattern would take for a text, or break on, is refused', () => {
  it.each(noText.map((value) => [typeof value, value]))('as where to listen: %s', async (_type, value) => {
    const listen = value as never
    expect(await refusal(() => defineConfig({ listen }))).toMatchObject({ code: 'FP_OPTION_INVALID' })
    expect(await refusal(() => checkSqsOptions({ listen }, 'the test'))).toMatchObject({ code: 'FP_OPTION_INVALID' })
  })

  it.each([
    { region: ['us-east-1'] },
    { region: Symbol.iterator },
    { account: 123_456_789_012 },
    { account: Object.create(null) },
    { host: 'a\u0000b' },
  ])('as an option of serveSqs(): %o', async (options) => {
    expect(await refusal(() => checkSqsOptions(options as never, 'the test'))).toMatchObject({
      code: 'FP_OPTION_INVALID',
    })
  })
})

describe('messageTask() refuses', () => {
  it.each<[string, unknown]>([
    ['no options', undefined],
    ['an input that is no schema', { input: {}, run }],
    ['a run that is no function', { input: z.unknown(), run: 5 }],
  ])('%s', async (_what, options) => {
    expect(await refusal(() => messageTask('orders', options as never))).toMatchObject({ code: 'FP_OPTION_INVALID' })
  })
})

describe('a workflow', () => {
  const made = workflow('made', { tasks: { a: { action: 'core.noop' } } })

  it('that nobody has checked is not rehearsed', async () => {
    for (const wrong of [null, {}, { definition: null }, { definition: { ...made.definition, tasks: 5 } }]) {
      expect(await refusal(() => rehearse(wrong as never))).toMatchObject({ code: 'FP_OPTION_INVALID' })
    }
    expect(rehearse({ ...made })).toMatchObject({ state: 'succeeded' })
  })

  it('whose file has problems is not rehearsed, and they are told', async () => {
    const file = readWorkflowText('name: a', 'a.yaml')
    expect(await refusal(() => rehearse(file as never))).toMatchObject({ code: 'FP_WORKFLOW_INVALID' })
  })

  it('whose name is no text, or without end, is refused with a short error', async () => {
    for (const name of [Symbol.iterator, 'x'.repeat(100_000)]) {
      const error = await refusal(() => workflow(name as never, { tasks: { a: { action: 'core.noop' } } }))
      expect(error.code).toBe('FP_WORKFLOW_INVALID')
      expect(error.message.length).toBeLessThan(1_000)
    }
  })

  it('is not read from what is no text and no path', async () => {
    expect(await refusal(() => readWorkflowText(5 as never, 'a.yaml'))).toMatchObject({ code: 'FP_OPTION_INVALID' })
    expect(await refusal(() => readWorkflowFile(0 as never))).toMatchObject({ code: 'FP_OPTION_INVALID' })
    const long = await refusal(() => readWorkflowFile('x'.repeat(100_000)))
    expect(long.code).toBe('FP_MODULE_FAILED')
    expect(long.message.length).toBeLessThan(2_000)
  })

  it('is not read from a file that is larger than anything can be', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'fencepost-large-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const path = join(directory, 'large.yaml')
    await writeFile(path, '')
    await truncate(path, 100 * limits.payloadBytesMax) // a hole: it takes no room
    expect(await refusal(() => readWorkflowFile(path))).toMatchObject({ code: 'FP_INPUT_TOO_LARGE' })
  })
})
