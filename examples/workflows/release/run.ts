import { join } from 'node:path'
import { fencepost, readWorkflowFile } from 'fencepost'
import { build } from './tasks/build.js'
import { deploy } from './tasks/deploy.js'
import { report } from './tasks/report.js'
import { scan } from './tasks/scan.js'

const fp = await fencepost()
await fp.work([build, scan, deploy, report])
await fp.workflows.deploy(await readWorkflowFile(join(import.meta.dirname, 'release.yaml')))

const releases = [
  { version: '1.4.0', regions: ['eu-west', 'us-east', 'ap-south', 'sa-east', 'af-south'] },
  { version: '1.4.1', regions: ['eu-west', 'mars', 'us-east'] },
  { version: 'latest' },
]
for (const parameters of releases) {
  const run = await fp.workflows.start('release', parameters)
  console.log(`started ${run.id}: ${parameters.version}`)
  await run.result({ timeout: '1m' }).catch(() => {}) // its state is told below
  const { state, output, taskRuns } = await fp.workflows.run(run.id)
  const ended = taskRuns.map(({ task, state }) => `${task} ${state}`)
  console.log(ended.toSorted().join(', '))
  console.log(state, output)
}
await fp.close()
