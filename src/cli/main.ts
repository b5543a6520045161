import { Command } from 'commander'
import { packageVersion } from '../package-root.js'
import { addGlobalOptions, asksForJson } from './global-options.js'
import { hasLoadedModules } from './module-loader.js'
import { reportError } from './report-error.js'

/** One file per command: a new one is added to this list. */
const commands = {
  migrate: async () => (await import('./migrate.js')).migrateCommand(),
  enqueue: async () => (await import('./enqueue.js')).enqueueCommand(),
  jobs: async () => (await import('./jobs.js')).jobsCommand(),
  queues: async () => (await import('./queues.js')).queuesCommand(),
  gates: async () => (await import('./gates.js')).gatesCommand(),
  workflow: async () => (await import('./workflow.js')).workflowCommand(),
  pause: async () => (await import('./pause.js')).pauseCommand(),
  resume: async () => (await import('./pause.js')).resumeCommand(),
  worker: async () => (await import('./worker.js')).workerCommand(),
  workers: async () => (await import('./workers.js')).workersCommand(),
  sqs: async () => (await import('./sqs.js')).sqsCommand(),
  audit: async () => (await import('./audit.js')).auditCommand(),
  lab: async () => (await import('./lab.js')).labCommand(),
  bench: async () => (await import('./bench.js')).benchCommand(),
  dev: async () => (await import('./dev.js')).devCommand(),
}

/** Only the command that the first word names: to load all of them takes longer than what most of them do. */
function neededCommands([first = '']: readonly string[]): Promise<Command[]> {
  const named = Object.entries(commands).filter(([name]) => name === first)
  const needed = named.length > 0 ? named : Object.entries(commands)
  return Promise.all(needed.map(([, load]) => load()))
}

async function fencepostProgram(): Promise<Command> {
  const program = addGlobalOptions(new Command('fencepost'))
    .description('A durable job queue and workflow engine for TypeScript on PostgreSQL.')
    .version(packageVersion)
  for (const command of await neededCommands(process.argv.slice(2))) program.addCommand(command)
  leaveErrorsToUs(program)
  return program
}

/** Commander would print errors in its own form and end the process in the middle of what runs. */
function leaveErrorsToUs(command: Command): void {
  command
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp({ showGlobalOptions: true })
  for (const inner of command.commands) leaveErrorsToUs(inner)
}

/** A reader that has seen enough (`| head`) is no error: the command ends as usual, unheard. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

try {
  await (await fencepostProgram()).parseAsync()
} catch (error) {
  process.exitCode = reportError(error, asksForJson(process.argv.slice(2)))
}
if (hasLoadedModules()) process.exit()
