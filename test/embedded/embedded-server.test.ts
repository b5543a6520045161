import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { joinEmbeddedServer } from '../../src/embedded/embedded-server.js'
import { findNativePackage } from '../../src/embedded/native-package.js'
import { expectStopped, isThere, othersWaitFor, postmasterPid, postmastersIn, query, setup } from './setup.js'

describe('joining', () => {
  it('puts three processes that start at the same instant on one server', async () => {
    const { place, spawnMember } = await setup('fresh')
    const members = await Promise.all([spawnMember(), spawnMember(), spawnMember()])
    const joined = await Promise.all(members.map((member) => member.join()))

    const pids = await Promise.all(joined.map(({ url }) => postmasterPid(url)))
    expect(new Set(pids).size).toBe(1)
    expect(await postmastersIn(place)).toEqual([pids[0]])

    await Promise.all(members.map((member) => member.leave()))
    await expectStopped(pids[0]!)
  })

  it('adopts the server of a process that was killed', async () => {
    const { join: joinHere, spawnMember } = await setup()
    const first = await spawnMember()
    const pid = await postmasterPid((await first.join()).url)
    await first.kill()
    expect(isThere(pid)).toBe(true)

    const server = await joinHere()
    expect(await postmasterPid(server.url)).toBe(pid)
    await server.leave()
    await expectStopped(pid)
  })

  it('finds the data of the last run', async () => {
    const { join: joinHere } = await setup()
    const first = await joinHere()
    await query(first.url, 'create table kept as select 42 as answer')
    await first.leave()

    const second = await joinHere()
    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
    await second.leave()
  })

  it('gives a durable UTF-8 server that listens on the loopback only', async () => {
    const { directory, systemDirectory, home } = await setup('fresh')
    const server = await joinEmbeddedServer({ directory }, { systemDirectory })
    const settings = ['listen_addresses', 'unix_socket_directories', 'fsync', 'server_encoding', 'password_encryption']
    const values = await query(
      server.url,
      `select ${settings.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
    )
    expect(values).toEqual([
      {
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        fsync: 'on',
        server_encoding: 'UTF8',
        password_encryption: 'scram-sha-256',
      },
    ])
    expect(await query(server.url, `select lower('Ä') as low, 'a' < 'B' as worldly`)).toEqual([
      { low: 'ä', worldly: false },
    ])
    expect(server.url).toMatch(
      new RegExp(`^postgres://fencepost:[0-9a-f]{48}@127\\.0\\.0\\.1:${server.port}/fencepost$`),
    )
    await expect(query(server.url.replace(/:[0-9a-f]{48}@/, ':guess@'), 'select 1')).rejects.toThrow(/password/)
    expect((await stat(join(home, 'password'))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(directory, '.gitignore'), 'utf8')).toBe('*\n')
    expect(await readFile(join(directory, 'README.md'), 'utf8')).toContain(home)
    await server.leave()
  })

  it('tells the last lines of the log when the server does not start, and lets the next one try', async () => {
    const { directory, systemDirectory, home, join: joinHere } = await setup()
    const settings = { fsync: 'off', wal_level: 'nonsense' }
    const failed = joinEmbeddedServer({ directory }, { systemDirectory, settings })
    await expect(failed).rejects.toMatchObject({
      code: 'FP_EMBEDDED_FAILED',
      message: expect.stringContaining('invalid value for parameter "wal_level"'),
    })
    expect(await readdir(join(home, 'members')).catch(() => [])).toEqual([])

    const server = await joinHere()
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await server.leave()
  })

  it('says so when the directory cannot be made', async () => {
    const { place, systemDirectory } = await setup('fresh')
    await expect(joinEmbeddedServer({ directory: '/dev/null/app' }, { systemDirectory })).rejects.toMatchObject({
      code: 'FP_EMBEDDED_FAILED',
    })
    expect(await postmastersIn(place)).toEqual([])
  })

  it('names the platform that has no PostgreSQL, and makes nothing', async () => {
    const { directory, place } = await setup('fresh')
    const missing = findNativePackage({ platform: 'sunos', arch: 'sparc' })
    await expect(joinEmbeddedServer({ directory }, { findPackage: () => missing })).rejects.toMatchObject({
      code: 'FP_EMBEDDED_UNAVAILABLE',
      message: expect.stringContaining('sunos-sparc'),
    })
    expect(await readdir(place)).toEqual([])
  })
})

describe('leaving', () => {
  it('stops the server with the last process only', async () => {
    const { join: joinHere, spawnMember } = await setup()
    const other = await spawnMember()
    const { url } = await other.join()
    const pid = await postmasterPid(url)
    const server = await joinHere()

    await other.leave()
    expect(await postmasterPid(url)).toBe(pid)
    await server.leave()
    await expectStopped(pid)
  })

  it('does not wait for members that were killed', async () => {
    const { join: joinHere, spawnMember } = await setup()
    const other = await spawnMember()
    await other.join()
    const server = await joinHere()
    const pid = await postmasterPid(server.url)
    await other.kill()

    await server.leave()
    await expectStopped(pid)
  })

  it('leaves the server running when asked to', async () => {
    const { join: joinHere } = await setup()
    const first = await joinHere({ keepRunning: true })
    const pid = await postmasterPid(first.url)
    await first.leave()
    expect(await postmasterPid(first.url)).toBe(pid)

    const second = await joinHere()
    expect(await postmasterPid(second.url)).toBe(pid)
    await second.leave()
    await expectStopped(pid)
  })

  it('counts two joins of one process as two, and leaving twice as once', async () => {
    const { join: joinHere } = await setup()
    const [first, second] = await Promise.all([joinHere(), joinHere({ keepRunning: true })])
    expect(first.url).toBe(second.url)
    await first.leave()
    await second.leave()
    await first.leave()
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('makes a process that joins while the last one leaves wait for a new server', async () => {
    const { options, home, spawnMember } = await setup()
    const comer = await spawnMember()
    let joined: Promise<{ url: string }> | undefined
    const pauseBefore = async (step: string) => {
      if (step === 'enter') return
      joined = comer.join()
      await Promise.race([joined, othersWaitFor(join(home, 'lock'))])
    }
    const server = await joinEmbeddedServer(options, { ...options, pauseBefore })
    const pid = await postmasterPid(server.url)
    await server.leave()

    const { url } = (await joined)!
    expect(await postmasterPid(url)).not.toBe(pid)
    await comer.leave()
  })

  it('does not stop the server under a process that has adopted it and is about to register', async () => {
    const { options, home, spawnMember } = await setup()
    const goer = await spawnMember()
    await goer.join()
    let gone: Promise<void> | undefined
    const pauseBefore = async (step: string) => {
      if (step === 'stop') return
      gone = goer.leave()
      await Promise.race([gone, othersWaitFor(join(home, 'lock'))])
    }
    const server = await joinEmbeddedServer(options, { ...options, pauseBefore })
    await gone
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await server.leave()
  })

  it('is at peace with a directory that was deleted', async () => {
    const { directory, place, join: joinHere } = await setup()
    const server = await joinHere()
    await rm(directory, { recursive: true, maxRetries: 5 })
    await server.leave()
    await expect(stat(directory)).rejects.toThrow('ENOENT')
    expect(await postmastersIn(place)).toHaveLength(1)
  })
})
