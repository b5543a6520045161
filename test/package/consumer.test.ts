import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'

const run = promisify(execFile)
let project: string

/** A project that has installed the package as it would be published, with what it depends on and nothing else. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'fencepost-consumer-'))
  const modules = join(project, 'node_modules')
  await mkdir(join(modules, 'fencepost'), { recursive: true })
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project]
  const { stdout } = await run('npm', pack, { cwd: packageRoot })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(project, filename), '--strip-components=1', '-C', join(modules, 'fencepost')])
  for (const path of await runtimePackages()) {
    await cp(join(packageRoot, path), join(project, path), { recursive: true, dereference: true })
  }
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
}, 120_000)

afterAll(() => rm(project, { recursive: true, force: true }))

/** What the lock file installs for users; optional packages may be missing there, too. */
async function runtimePackages(): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>
  }
  return Object.entries(lock.packages)
    .filter(([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional)
    .map(([path]) => path)
}

async function compile(source: string): Promise<string> {
  await writeFile(join(project, 'consumer.ts'), source)
  const options = {
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
  }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['consumer.ts'] }))
  const compiler = join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc')
  return run(process.execPath, [compiler, '-p', project]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  )
}

const source = `
  import type { StandardSchemaV1 } from '@standard-schema/spec'
  import { FencepostError, NonRetryable, RetryAfter, fencepost, task } from 'fencepost'
  import type { Duration, Fencepost, FencepostEvents, JobContext, JobDetail, Json, Task } from 'fencepost'

  const order: StandardSchemaV1<{ id: string }> = {
    '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value: value as { id: string } }) },
  }
  const charge = task('charge', {
    input: order,
    timeout: '30s',
    run: async (input, job) => {
      if (job.failures > 3) throw new NonRetryable(input.id)
      if (job.signal.aborted) throw new RetryAfter('5m')
      return { at: job.createdAt }
    },
  })

  type IsAny<Value> = 0 extends 1 & Value ? true : false
  type Transaction = Parameters<Parameters<Fencepost['transaction']>[0]>[0]
  type Input = typeof charge extends Task<infer Input, unknown> ? Input : never
  const resolved: IsAny<Transaction | Input | JobContext['signal'] | FencepostEvents['failed']>[] = [false]

  export async function use(fp: Fencepost, delay: Duration): Promise<string> {
    const { id } = await fp.transaction(async (tx) => {
      const { rows } = await tx.query<{ id: string }>('select 1 as id')
      return fp.enqueue(charge, { id: rows[0]?.id ?? 'none' }, { tx, delay })
    })
    const { payload }: JobDetail = await fp.job(id)
    const seen: Json = payload
    const { result } = await fp.enqueue(charge, { id: String(seen) })
    return (await result()).at
  }

  try {
    await fencepost({ database: 'postgres://user@127.0.0.1:1/none' })
  } catch (error) {
    console.log(error instanceof FencepostError && error.code, charge.timeoutMs, resolved)
  }
`.replace(/^ {2}/gm, '')

describe('a project that installed the package', () => {
  it('compiles against its types, and every type of another package is found', async () => {
    expect(await compile(source)).toBe('')
  })

  it('is told by the compiler when it goes wrong', async () => {
    const wrong = source.replace('(await result()).at', '(await result()).at.getTime()')
    expect(await compile(wrong)).toMatch(
      /consumer\.ts.*error TS2339: Property 'getTime' does not exist on type 'string'/,
    )
  })

  it('runs', async () => {
    await compile(source)
    const { stdout } = await run(process.execPath, [join(project, 'consumer.js')])
    expect(stdout).toBe('FP_DATABASE_UNREACHABLE 30000 [ false ]\n')
  })

  it('has the command line', async () => {
    const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
    const { stdout } = await run(process.execPath, [
      join(project, 'node_modules', 'fencepost', 'bin', 'fencepost.js'),
      '--version',
    ])
    expect(stdout.trim()).toContain(version)
  })

  it('gets the SQL and nothing that only developers need', async () => {
    const listed = await run('tar', ['-tzf', join(project, `fencepost-${(await manifest()).version}.tgz`)])
    const files = listed.stdout.split('\n')
    expect(files).toContain('package/sql/moves/finish.sql')
    expect(files).toContain('package/LICENSE')
    expect(
      files.filter((file) => /\/(test|scripts|src|node_modules)\//.test(file.replace('/dist/src/', '/dist/'))),
    ).toEqual([])
  })
})

async function manifest(): Promise<{ version: string }> {
  return JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
}
