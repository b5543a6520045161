import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { packageRoot } from '../../../src/package-root.js'
import { compiledProgram } from '../../harness/compiled.js'
import { setup } from '../../harness/setup.js'
import { processTestMsMax } from './setup.js'

/** readWorkflowText() and workflow() answer at once what is wrong: their parsers, YAML and CEL, cannot be waited for. */
const packagesNeeded = ['@marcbachmann/cel-js', 'pg', 'uuidv7', 'yaml']
/** For a server of SQS or of metrics, for the embedded PostgreSQL, and for the command line. */
const needless = /^(?:audit|cli|embedded|lab)\/|^sqs\/(?:http-server|sqs-server)\.js$/
const needlessOfNode = /from 'node:(?:child_process|http)'/

// What is loaded stays: on Node 24, node:http alone was eleven megabytes of every worker, of which few serve anything.
it('loads nothing that a plain worker does not need', { timeout: processTestMsMax }, async () => {
  const { url } = await setup()

  const files = await filesLoadedBy(compiledProgram('worker/processes/plain-worker-process'), url)

  const packages = new Set(files.map((file) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]))
  expect((await dependencies()).filter((name) => packages.has(name))).toEqual(packagesNeeded)
  const root = join(packageRoot, 'dist', 'src/')
  const ours = files.filter((file) => file.startsWith(root)).map((file) => file.slice(root.length))
  expect(ours).toContain('worker/worker.js')
  expect(ours.filter((file) => needless.test(file))).toEqual([])
  const texts = await Promise.all(ours.map((file) => readFile(join(root, file), 'utf8')))
  expect(ours.filter((_, n) => needlessOfNode.test(texts[n] as string))).toEqual([])
})

/** V8 tells of every file that it has run, however it was imported. */
async function filesLoadedBy(program: string, url: string): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-loaded-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const env = { ...process.env, NODE_V8_COVERAGE: directory }
  await promisify(execFile)(process.execPath, [program, url], { env })
  const [report] = await readdir(directory)
  const { result } = JSON.parse(await readFile(join(directory, report as string), 'utf8')) as {
    result: { url: string }[]
  }
  return result.filter((script) => script.url.startsWith('file:')).map((script) => fileURLToPath(script.url))
}

async function dependencies(): Promise<string[]> {
  const manifest = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { dependencies: object }
  return Object.keys(manifest.dependencies)
}
