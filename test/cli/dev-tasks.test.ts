import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { setup } from '../harness/setup.js'
import { CliProcess, cli, refused } from './cli-process.js'
import { project, taskModule } from './project.js'

const version = (text: string) =>
  taskModule('tell', `console.log('told by ' + version + '/${text}.')`, {
    imports: `import { version } from '../lib/version'`,
  })
const lib = (text: string) => `export const version: string = '${text}'`
const files = { 'tasks/tell.ts': version('a'), 'lib/version.ts': lib('1') }

/** The ids of the worker processes, from the lines that say they are ready. */
const workerPids = (stdout: string) => [...stdout.matchAll(/"pid":(\d+).*"msg":"ready/g)].map(([, pid]) => Number(pid))
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Until the new worker is ready, the old one may still take a job, and run it as it was before. */
const reloaded = (file: string) => new RegExp(`${file} changed: reloading[^]*ready: 1 task`)

it('runs the tasks of the directory, and those of a saved file in a new worker', async () => {
  const { url, add } = await setup()
  const { directory, write } = await project(files)
  const dev = new CliProcess(['dev'], { url, cwd: directory })

  await add({ task: 'tell' })
  await dev.sees(/told by 1\/a\./)
  await write('tasks/tell.ts', version('b'))
  await dev.sees(reloaded('tasks/tell.ts'))
  await add({ task: 'tell' })
  await dev.sees(/told by 1\/b\./)
  await write('lib/version.ts', lib('2'))
  await dev.sees(reloaded('lib/version.ts'))
  await add({ task: 'tell' })
  await dev.sees(/told by 2\/b\./)
  dev.signal('SIGINT')

  const { code, stdout, stderr } = await dev.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(workerPids(stdout)).toHaveLength(3)
  expect(workerPids(stdout).filter(isAlive)).toEqual([])
})

it('shows a mistake, and tries again with the next save; new files count, too', async () => {
  const { url } = await setup()
  const { directory, write } = await project({ ...files, 'tasks/tell.ts': 'export const a: = 1' })
  const dev = new CliProcess(['dev', 'tasks'], { url, cwd: directory })

  await dev.sees(/the worker has ended \(1\); save a file to start it again/)
  await write('tasks/tell.ts', version('b'))
  await dev.sees(/ready: 1 task \(tell\)/)
  await write('tasks/more.ts', taskModule('more', ''))
  await dev.sees(/ready: 2 tasks \(more, tell\)/)
  await rm(join(directory, 'tasks', 'more.ts'))
  await dev.sees(/ready: 1 task \(tell\)[^]*ready: 1 task \(tell\)/)
  dev.signal('SIGTERM')

  const { code, stderr } = await dev.ended
  expect(code).toBe(0)
  expect(stderr).toMatch(/^fencepost: .*tasks\/tell\.ts:1:16: ERROR: Unexpected "=" \(FP_MODULE_FAILED\)\n.+\n$/)
})

it('leaves no worker behind when it is killed', async () => {
  const { url } = await setup()
  const { directory } = await project(files)
  const dev = new CliProcess(['dev'], { url, cwd: directory })
  await dev.sees(/ready: 1 task/)

  dev.signal('SIGKILL')

  const { stdout } = await dev.ended // its output is closed when the last process that writes to it has ended
  expect(stdout).toContain('worker stopped: 0 finished')
})

it('ends its worker with it on the second signal', async () => {
  const { url, add } = await setup()
  const { directory } = await project({
    'tasks/endless.ts': taskModule('endless', `console.log('runs'); await new Promise(() => {})`),
  })
  const dev = new CliProcess(['dev'], { url, cwd: directory })
  await add({ task: 'endless' })
  await dev.sees(/runs/)

  dev.signal('SIGTERM')
  await dev.sees(/stopping/)
  const again = setInterval(() => dev.signal('SIGTERM'), 100)
  const { code, stdout } = await dev.ended.finally(() => clearInterval(again)) // the worker's output is closed, too

  expect(code).toBe(143)
  expect(stdout).not.toContain('worker stopped')
})

it('plays the demo if asked, whatever tasks there are', async () => {
  const { url } = await setup()
  const { directory } = await project(files)
  const dev = new CliProcess(['dev', '--demo'], { url, cwd: directory })
  await dev.sees(/send-mail +→ ready/)
  dev.signal('SIGINT')
  expect((await dev.ended).code).toBe(0)
  expect(await cli(['dev', '--demo', 'tasks'])).toEqual(refused('FP_USAGE', 'give paths or --demo, not both', 2))
})
