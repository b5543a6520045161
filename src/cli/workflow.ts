import { Command } from 'commander'
import {
  workflowCancelCommand,
  workflowPauseCommand,
  workflowRerunCommand,
  workflowResumeCommand,
} from './workflow-control.js'
import { workflowDeployCommand } from './workflow-deploy.js'
import { workflowGraphCommand } from './workflow-graph.js'
import { workflowListCommand } from './workflow-list.js'
import { workflowRehearseCommand } from './workflow-rehearse.js'
import { workflowRunCommand } from './workflow-run.js'
import { workflowRunsCommand } from './workflow-runs.js'
import { workflowShowCommand } from './workflow-show.js'
import { workflowAnswerCommand, workflowSignalCommand } from './workflow-tell.js'
import { workflowValidateCommand } from './workflow-validate.js'
import { workflowWatchCommand } from './workflow-watch.js'

/** In the order in which they are met: write one, run it, look at it, do something about it. */
export function workflowCommand(): Command {
  return new Command('workflow')
    .description('check, deploy, rehearse and run workflows, look at their runs, answer their questions')
    .addCommand(workflowListCommand(), { isDefault: true })
    .addCommand(workflowValidateCommand())
    .addCommand(workflowGraphCommand())
    .addCommand(workflowRehearseCommand())
    .addCommand(workflowDeployCommand())
    .addCommand(workflowRunCommand())
    .addCommand(workflowRunsCommand())
    .addCommand(workflowShowCommand())
    .addCommand(workflowWatchCommand())
    .addCommand(workflowAnswerCommand())
    .addCommand(workflowSignalCommand())
    .addCommand(workflowPauseCommand())
    .addCommand(workflowResumeCommand())
    .addCommand(workflowCancelCommand())
    .addCommand(workflowRerunCommand())
}
