import { Command } from 'commander'
import { ResultWaiter } from '../client/result-waiter.js'
import type { Workflows } from '../client/workflows.js'
import { FencepostError } from '../errors.js'
import { checkedJobId } from '../job/job-id.js'
import { limits } from '../limits.js'
import type { Database } from '../store/database.js'
import { readOutcomes } from '../store/read.js'
import { readSecrets } from '../store/run-secrets.js'
import { type Duration, durationMs } from '../task/duration.js'
import type { Workflow } from '../workflow/builder.js'
import type { RunState, Trouble } from '../workflow/run.js'
import type { GlobalOptions } from './global-options.js'
import { declaredValues, givenValues, type ValueOptions } from './named-values.js'
import { collected, duration } from './option-values.js'
import { SecretMask } from '../job/secret-mask.js'
import { stopSignal } from './stop-signal.js'
import { troubleLines } from './trouble-lines.js'
import { hasLiveWorker, withWorkflows } from './workflow-session.js'
import { fileOfName, isFileName, requireOneWorkflow } from './workflow-source.js'

const parameterOptions: ValueOptions = { kind: 'parameter', one: '--param', all: '--params' }

interface RunOptions extends GlobalOptions {
  readonly param?: readonly string[]
  readonly params?: string
  readonly id?: string
  readonly wait?: boolean
  readonly timeout?: Duration
}

export function workflowRunCommand(): Command {
  return new Command('run')
    .description('start a run, of a file, which is deployed first, or of a workflow that is deployed')
    .argument('<workflow>', 'a YAML file, a module that exports one workflow, or a name')
    .option('--param <name=value>', 'a parameter, in the type that it declares; may be repeated', collected)
    .option('--params <json>', 'all parameters as a JSON object, - for standard input, or @file')
    .option('--id <uuid>', 'an id of your own: repeating the command with it starts nothing')
    .option('--wait', 'wait for its end: write the output as JSON, and tell by the exit code how it ended')
    .option('--timeout <duration>', 'how long to wait for its end', duration)
    .addHelpText(
      'after',
      '\nArguments are seen by others on the machine: give secrets with --params @file or --params -.',
    )
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<RunOptions>()
      const timeoutMs = checkedTimeout(options)
      const id = options.id === undefined ? undefined : checkedJobId(options.id)
      const values = await givenValues({ each: options.param ?? [], all: options.params }, parameterOptions)
      const file = isFileName(given) ? await requireOneWorkflow(given, options) : undefined
      await withWorkflows(options, async (workflows, db) => {
        const started = await start(workflows, file ?? given, values, id)
        if (!options.wait) return tellStarted(started, await hasLiveWorker(db), options)
        if (!(await hasLiveWorker(db)))
          console.error('No live worker is there: the run begins when one is. fencepost worker')
        if (!options.json) console.error(`${started.id} ${started.answer}`)
        await tellEnd(db, started.id, timeoutMs, options)
      })
    })
}

function checkedTimeout({ wait, timeout }: RunOptions): number | undefined {
  if (timeout === undefined) return undefined
  if (!wait) throw new FencepostError('FP_USAGE', '--timeout is how long --wait waits', { hint: 'Add --wait.' })
  return durationMs(timeout, '--timeout', 0, limits.timerMsMax)
}

interface Started {
  readonly id: string
  readonly answer: 'started' | 'existing'
  readonly workflow: string
  readonly version: number
}

async function start(
  workflows: Workflows,
  given: Workflow | string,
  values: ReadonlyMap<string, unknown>,
  id: string | undefined,
): Promise<Started> {
  if (typeof given !== 'string') await workflows.deploy(given)
  const name = typeof given === 'string' ? given : given.definition.name
  const { version, definition } = await newest(workflows, name)
  const whose = `workflow ${name}`
  const parameters = declaredValues(values, definition.parameters, parameterOptions, 'FP_PARAMETERS_INVALID', whose)
  const run = await workflows.start(name, parameters, id === undefined ? {} : { id })
  return { id: run.id, answer: run.answer, workflow: name, version }
}

async function newest(workflows: Workflows, name: string) {
  try {
    return await workflows.newest(name)
  } catch (error) {
    const file = fileOfName(name)
    if (!(error instanceof FencepostError) || error.code !== 'FP_WORKFLOW_UNKNOWN' || file === undefined) throw error
    throw new FencepostError(error.code, name, { hint: `There is a file of that name: fencepost workflow run ${file}` })
  }
}

function tellStarted(started: Started, hasWorker: boolean, { json }: RunOptions): void {
  if (json) return console.log(JSON.stringify(started))
  const { id, answer, workflow, version } = started
  console.log(`${id} ${answer} (${workflow}, version ${version})`)
  console.log(`Watch it: fencepost workflow watch ${id}`)
  if (!hasWorker) console.log('No live worker is there: the run begins when one is. fencepost worker')
}

/** The output goes to stdout, alone; all else to stderr. */
async function tellEnd(db: Database, id: string, timeoutMs: number | undefined, { json }: RunOptions): Promise<void> {
  const ended = await waitForEnd(db, id, timeoutMs)
  if (!ended) {
    console.error(`The run goes on. Watch it: fencepost workflow watch ${id}`)
    process.exitCode = 130
    return
  }
  const mask = new SecretMask((await readSecrets(db, [id])).get(id) ?? [])
  const output = mask.json(ended.result)
  const error = mask.json(ended.error) as Trouble | null
  const state = ended.outcome as RunState
  if (json) console.log(JSON.stringify({ id, state, output, error }))
  else console.log(JSON.stringify(output))
  if (state === 'succeeded') return
  process.exitCode = 1
  if (json) return
  console.error(`fencepost: the run ${state}`)
  for (const line of troubleLines(error)) console.error(`  ${line}`)
  console.error(`See how it went: fencepost workflow show ${id}`)
}

/** undefined if the waiting was broken off by a signal. */
async function waitForEnd(db: Database, id: string, timeoutMs: number | undefined) {
  const waiter = new ResultWaiter((ids) => readOutcomes(db, ids))
  const stop = stopSignal()
  const stopped = new Promise<undefined>((resolve) => stop.signal.addEventListener('abort', () => resolve(undefined)))
  try {
    return await Promise.race([waiter.wait(id, timeoutMs), stopped])
  } catch (error) {
    if (!(error instanceof FencepostError) || error.code !== 'FP_RESULT_TIMEOUT') throw error
    throw new FencepostError(error.code, `run ${id} after ${timeoutMs} ms`, {
      hint: `The run goes on. Watch it: fencepost workflow watch ${id}`,
    })
  } finally {
    waiter.close()
    stop.dispose()
  }
}
