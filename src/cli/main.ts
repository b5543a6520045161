import { Command } from 'commander'
import { packageVersion } from '../package-root.js'
import { auditCommand } from './audit.js'
import { benchCommand } from './bench.js'
import { devCommand } from './dev.js'
import { enqueueCommand } from './enqueue.js'
import { gatesCommand } from './gates.js'
import { addGlobalOptions, asksForJson } from './global-options.js'
import { jobsCommand } from './jobs.js'
import { labCommand } from './lab.js'
import { migrateCommand } from './migrate.js'
import { hasLoadedModules } from './module-loader.js'
import { pauseCommand, resumeCommand } from './pause.js'
import { queuesCommand } from './queues.js'
import { reportError } from './report-error.js'
import { sqsCommand } from './sqs.js'
import { workerCommand } from './worker.js'
import { workersCommand } from './workers.js'
import { workflowCommand } from './workflow.js'

/** One file per command: a new one is added to this list. */
const commands = [
  migrateCommand,
  enqueueCommand,
  jobsCommand,
  queuesCommand,
  gatesCommand,
  workflowCommand,
  pauseCommand,
  resumeCommand,
  workerCommand,
  workersCommand,
  sqsCommand,
  auditCommand,
  labCommand,
  benchCommand,
  devCommand,
]

function fencepostProgram(): Command {
  const program = addGlobalOptions(new Command('fencepost'))
    .description('A durable job queue and workflow engine for TypeScript on PostgreSQL.')
    .version(packageVersion)
  for (const command of commands) program.addCommand(command())
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
  await fencepostProgram().parseAsync()
} catch (error) {
  process.exitCode = reportError(error, asksForJson(process.argv.slice(2)))
}
if (hasLoadedModules()) process.exit()
