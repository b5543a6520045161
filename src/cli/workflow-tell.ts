import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { nearestName } from '../task/nearest-name.js'
import type { Definition, Parameter } from '../workflow/definition.js'
import type { GlobalOptions } from './global-options.js'
import { declaredValues, givenValues, typedValues, type ValueOptions } from './named-values.js'
import { collected } from './option-values.js'
import { jsonFrom } from './payload-argument.js'
import { withRun } from './workflow-session.js'

const fieldOptions: ValueOptions = { kind: 'field', one: '--field', all: '--fields' }

interface AnswerOptions extends GlobalOptions {
  readonly field?: readonly string[]
  readonly fields?: string
}

export function workflowAnswerCommand(): Command {
  return new Command('answer')
    .description('answer the question of a task; an answer that comes early is kept')
    .argument('<run>', 'the id of the run')
    .argument('<task>', 'the task that asks')
    .option('--field <name=value>', 'a field of the form, in the type that it declares; may be repeated', collected)
    .option('--fields <json>', 'all fields as a JSON object, - for standard input, or @file')
    .action(async (given: string, task: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<AnswerOptions>()
      const values = await givenValues({ each: options.field ?? [], all: options.fields }, fieldOptions)
      await withRun(options, given, async (workflows, id) => {
        const { definition } = await workflows.run(id)
        const question = definition.tasks.find(({ name }) => name === task)
        const { form } = (question?.input ?? {}) as { form?: Readonly<Record<string, Parameter>> | string | null }
        // Of a task that asks nothing, or asks what only the run can tell, the client says what is wrong.
        const isKnown = typeof form === 'object' && form !== null
        const answer = isKnown
          ? declaredValues(values, form, fieldOptions, 'FP_ANSWER_INVALID', `task ${task}`)
          : typedValues(values, {})
        await workflows.answer(id, task, answer)
      })
      if (options.json) console.log(JSON.stringify({ id: given, task, answer: 'sent' }))
      else console.log(`${given} ${task}: answered`)
    })
}

export function workflowSignalCommand(): Command {
  return new Command('signal')
    .description('send a signal that a task of a run waits for, now or later')
    .argument('<run>', 'the id of the run')
    .argument('<name>', 'the name of the signal')
    .argument('[payload]', 'JSON, - for standard input, or @file (default: null)')
    .action(async (given: string, name: string, payload: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const example = `fencepost workflow signal ${given} ${name} '{"by":"ada"}'`
      const value = payload === undefined ? null : await jsonFrom(payload, 'the payload', example)
      await withRun(options, given, async (workflows, id) => {
        requireAwaited(name, (await workflows.run(id)).definition)
        await workflows.signal(id, name, value)
      })
      if (options.json) console.log(JSON.stringify({ id: given, signal: name, answer: 'sent' }))
      else console.log(`${given} signal ${name} sent`)
    })
}

/** A misspelt signal would be kept for ever. */
function requireAwaited(signal: string, { name, tasks }: Definition): void {
  const awaited = tasks
    .filter(({ action }) => action === 'wait.signal')
    .map(({ input }) => (input as { name: string }).name)
  if (awaited.some((each) => each === signal || each.includes('{{'))) return
  const nearest = nearestName(signal, awaited)
  const known = awaited.length === 0 ? 'None of its tasks waits for a signal.' : `There are ${awaited.join(', ')}.`
  throw new FencepostError(
    'FP_OPTION_INVALID',
    `no task of workflow ${name} waits for a signal ${JSON.stringify(signal)}`,
    {
      hint: nearest === undefined ? known : `Did you mean ${nearest}? ${known}`,
    },
  )
}
