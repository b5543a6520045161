import { chmod, chown, lchown, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runProgram } from '../../src/embedded/run-program.js'
import { serverUser } from '../../src/embedded/server-user.js'
import { asRoot, expectStopped, postmasterPid, query, setup, temporaryDirectory } from './setup.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const nobody = { uid: 65_534, gid: 65_534 }
const nobodyCanRead =
  asRoot && (await runProgram(process.execPath, ['-e', `fs.readdirSync('${repository}')`], nobody)).code === 0
const reason = asRoot ? '' : ' (skipped: the tests do not run as root)'

describe('root', () => {
  it.skipIf(!asRoot)(`runs the server as another user, who owns the data${reason}`, async () => {
    const { home, join: joinHere } = await setup('fresh')
    const server = await joinHere()
    const { uid } = await stat(join(home, 'data'))
    expect(uid).not.toBe(0)
    expect((await stat(`/proc/${await postmasterPid(server.url)}`)).uid).toBe(uid)
    await server.leave()
  })

  it.skipIf(!asRoot)(
    `keeps the data elsewhere if that user cannot enter the project, and stays there${reason}`,
    async () => {
      const { project, directory, systemDirectory, join: joinHere } = await setup('fresh')
      await mkdir(project, { mode: 0o700 })
      const first = await joinHere()
      await query(first.url, 'create table kept as select 42 as answer')
      await first.leave()

      const home = (await readFile(join(directory, 'server-home'), 'utf8')).trim()
      expect(home.startsWith(systemDirectory)).toBe(true)
      expect(await readFile(join(directory, 'README.md'), 'utf8')).toContain(home)
      expect((await readdir(directory)).toSorted()).toEqual(['.gitignore', 'README.md', 'server-home'])

      await chmod(project, 0o755)
      const second = await joinHere()
      expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
      await second.leave()
    },
  )

  it.skipIf(!asRoot)(`runs the server of somebody else’s data as its owner${reason}`, async () => {
    const { home, join: joinHere } = await setup()
    await chownAll(home, nobody)
    const server = await joinHere()
    expect((await stat(`/proc/${await postmasterPid(server.url)}`)).uid).toBe(nobody.uid)
    expect((await stat(join(home, 'postgres.log'))).uid).toBe(nobody.uid)
    await server.leave()
  })

  it.skipIf(!asRoot)(`gives data that has become root’s back to the server’s user${reason}`, async () => {
    const { home, join: joinHere } = await setup()
    await chownAll(home, { uid: 0, gid: 0 })
    const server = await joinHere()
    expect((await stat(join(home, 'data', 'base'))).uid).not.toBe(0)
    await server.leave()
  })
})

describe('a missing user postgres', () => {
  it.skipIf(!asRoot)(`is created, in spite of another process that is at it${reason}`, async () => {
    const system = await fakeSystem()
    await system.program('id', 'test -f "$0.made" && echo 4321')
    await system.program(
      'useradd',
      'test -f "$0.locked" || { touch "$0.locked"; echo locked >&2; exit 1; }; touch "${0%/*}/id.made"',
    )
    expect(await serverUser(join(system.directory, 'no-data-yet'))).toEqual({ uid: 4321, gid: 4321 })
  })

  it.skipIf(!asRoot)(`that cannot be created makes the server unavailable, with the reason${reason}`, async () => {
    const system = await fakeSystem()
    await system.program('id', 'exit 1')
    await system.program('useradd', 'echo "cannot open /etc/passwd" >&2; exit 1')
    await expect(serverUser(join(system.directory, 'no-data-yet'))).rejects.toMatchObject({
      code: 'FP_EMBEDDED_UNAVAILABLE',
      message: expect.stringContaining('cannot open /etc/passwd'),
    })
  })
})

describe('an ordinary user', () => {
  const why = reason || (nobodyCanRead ? '' : ' (skipped: the user nobody cannot read this repository)')
  it.skipIf(!nobodyCanRead)(`runs the server as himself${why}`, async () => {
    const { project, home, spawnMember } = await setup('fresh')
    await mkdir(project, { mode: 0o700 })
    await chown(project, nobody.uid, nobody.gid)
    const member = await spawnMember({}, nobody)
    const { url } = await member.join()
    const pid = await postmasterPid(url)
    expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid)
    expect((await stat(join(home, 'password'))).uid).toBe(nobody.uid)
    await member.leave()
    await expectStopped(pid)
  })

  it.skipIf(!nobodyCanRead)(`is told when the database belongs to somebody else${why}`, async () => {
    const { project, home, spawnMember } = await setup()
    await chown(project, nobody.uid, nobody.gid)
    await chown(home, nobody.uid, nobody.gid)
    const member = await spawnMember({}, nobody)
    await expect(member.join()).rejects.toThrow(/FP_EMBEDDED_FAILED.*(EACCES|password)/)
  })
})

/** The programs of a machine without a user postgres. */
async function fakeSystem() {
  const directory = await temporaryDirectory()
  await symlink('/bin/touch', join(directory, 'touch'))
  vi.stubEnv('PATH', directory)
  onTestFinished(() => void vi.unstubAllEnvs())
  const program = (name: string, script: string) =>
    writeFile(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { directory, program }
}

async function chownAll(directory: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await chown(directory, uid, gid)
  for (const name of await readdir(directory, { recursive: true })) await lchown(join(directory, name), uid, gid)
}
