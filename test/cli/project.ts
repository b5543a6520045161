import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { packageRoot } from '../../src/package-root.js'

export type Files = Readonly<Record<string, string>>

/** A project of a user’s: a directory of its own with these files, in which this package and zod are installed. */
export async function project(files: Files, { type = 'module' }: { type?: 'module' | 'commonjs' } = {}) {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'fencepost-project-')))
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(directory, name)), { recursive: true })
    await writeFile(join(directory, name), text)
  }
  await mkdir(join(directory, 'node_modules'))
  await symlink(packageRoot, join(directory, 'node_modules', 'fencepost'))
  await symlink(join(packageRoot, 'node_modules', 'zod'), join(directory, 'node_modules', 'zod'))
  await write('package.json', JSON.stringify({ type }))
  for (const [name, text] of Object.entries(files)) await write(name, text)
  return { directory, write }
}

/** A module with one task that takes anything. */
export function taskModule(name: string, body: string, { options = '', imports = '' } = {}): string {
  return `
    import { task } from 'fencepost'
    import { z } from 'zod'
    ${imports}
    export const exported = task('${name}', {
      input: z.any(),
      ${options}
      async run(input: { [key: string]: string }, job): Promise<unknown> {
        ${body}
      },
    })
  `
}
