import { Command } from 'commander'
import { checkedName } from '../task/options.js'
import type { GlobalOptions } from './global-options.js'
import { withRun } from './workflow-session.js'

const runArgument = ['<run>', 'the id of the run'] as const

export function workflowPauseCommand(): Command {
  return new Command('pause')
    .description('begin no more tasks of a run; what runs goes on')
    .argument(...runArgument)
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const { answer } = await withRun(options, given, (workflows, id) => workflows.pause(id))
      tell(options, given, answer, {
        paused: `paused: nothing more of it is begun. To go on: fencepost workflow resume ${given}`,
        already: 'is paused already',
      })
    })
}

export function workflowResumeCommand(): Command {
  return new Command('resume')
    .description('go on with a paused run')
    .argument(...runArgument)
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const { answer } = await withRun(options, given, (workflows, id) => workflows.resume(id))
      tell(options, given, answer, { resumed: 'goes on', already: 'was not paused' })
    })
}

interface CancelOptions extends GlobalOptions {
  readonly allowFinish?: boolean
  readonly reason?: string
}

export function workflowCancelCommand(): Command {
  return new Command('cancel')
    .description('end a run: begin nothing more, and ask what runs to stop')
    .argument(...runArgument)
    .option('--allow-finish', 'let end what runs')
    .option('--reason <text>', 'kept as the error of the run')
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<CancelOptions>()
      const { answer, state } = await withRun(options, given, (workflows, id) =>
        workflows.cancel(id, {
          mode: options.allowFinish ? 'allow_finish' : 'cancel_running',
          ...(options.reason !== undefined && { reason: checkedName(options.reason, '--reason') }),
        }),
      )
      const what = options.allowFinish ? 'what runs is let end' : 'what runs is asked to stop'
      tell(options, given, answer, {
        cancelling: `is being cancelled: nothing more of it is begun, ${what}`,
        already: 'is being cancelled already',
        ended: `not cancelled: it has ended already (${state})`,
      })
    })
}

interface RerunOptions extends GlobalOptions {
  readonly from: string
  readonly reset?: boolean
}

export function workflowRerunCommand(): Command {
  return new Command('rerun')
    .description('take a run that has ended up again, from one of its tasks')
    .argument(...runArgument)
    .requiredOption('--from <task>', 'a task that it has reached; what follows from it follows again')
    .option('--reset', 'do all of the task anew, not only its items that did not succeed')
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<RerunOptions>()
      const { from, reset = false } = options
      await withRun(options, given, (workflows, id) => workflows.rerun(id, { from, reset }))
      tell(options, given, 'rerunning', {
        rerunning: `runs again from ${from}. To watch it: fencepost workflow watch ${given}`,
      })
    })
}

function tell<Answer extends string>(
  { json }: GlobalOptions,
  id: string,
  answer: Answer,
  texts: Readonly<Record<Answer, string>>,
): void {
  console.log(json ? JSON.stringify({ id, answer }) : `${id} ${texts[answer]}`)
}
