import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DirectoryLock } from '../../src/embedded/directory-lock.js'
import { ownIdentity } from '../../src/embedded/process-identity.js'
import { compiledProgram } from '../harness/compiled.js'
import { temporaryDirectory } from './setup.js'

const deadHolder = '999999999-1-gone'
const holderProgram = compiledProgram('embedded/lock-holder-process')

async function setup(holder?: string) {
  const directory = join(await temporaryDirectory(), 'lock')
  await mkdir(directory)
  if (holder !== undefined) await writeFile(join(directory, '1'), holder)
  return { directory, lock: new DirectoryLock(directory) }
}

describe('DirectoryLock', () => {
  it('lets one in at a time', async () => {
    const { directory } = await setup()
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await readdir(directory)
      inside--
    }
    await Promise.all(Array.from({ length: 30 }, () => new DirectoryLock(directory).hold(work)))
    expect(most).toBe(1)
    expect(inside).toBe(0)
  })

  it('is released when the work fails', async () => {
    const { lock } = await setup()
    await expect(lock.hold(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await lock.hold(() => Promise.resolve('in'))).toBe('in')
  })

  it('passes on when its holder is killed', async () => {
    const { directory } = await setup()
    const holder = spawn(process.execPath, [holderProgram, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    const { lock, waits } = watchedLock(directory)
    const entering = lock.hold(() => Promise.resolve('in'))
    await waits
    holder.kill('SIGKILL')
    expect(await entering).toBe('in')
  })

  it.each([
    ['a dead process', deadHolder],
    ['an earlier process with our pid', `${process.pid}-1-gone`],
    ['nobody, cut short by a power failure', ''],
  ])('is taken from %s', async (_, holder) => {
    const { lock } = await setup(holder)
    expect(await lock.hold(() => Promise.resolve('in'))).toBe('in')
  })

  it('is not taken from a living process', async () => {
    const { directory } = await setup(ownIdentity())
    const { lock, waits } = watchedLock(directory)
    const entering = lock.hold(() => Promise.resolve('in'))
    await expect(Promise.race([waits, entering])).resolves.toBe('waits')
    await writeFile(join(directory, '1'), 'released')
    expect(await entering).toBe('in')
  })

  it('goes to one of two that see the same dead holder', async () => {
    const { directory, lock: fast } = await setup(deadHolder)
    const slow = watchedLock(directory, { standStillAt: 2 })
    const slowEnters = slow.lock.hold(() => Promise.resolve('in'))
    await slow.stands

    await fast.hold(async () => {
      slow.goOn()
      await expect(Promise.race([slow.waits, slowEnters])).resolves.toBe('waits')
    })
    expect(await slowEnters).toBe('in')
  })

  it('does not admit a process that stood still until its place was swept away', async () => {
    const { directory, lock: fast } = await setup(deadHolder)
    const slow = watchedLock(directory, { standStillAt: 2 })
    const slowEnters = slow.lock.hold(() => Promise.resolve('in'))
    await slow.stands

    for (let round = 0; round < 20; round++) await fast.hold(() => Promise.resolve())
    expect(await readdir(directory)).not.toContain('2')
    await fast.hold(async () => {
      slow.goOn()
      await expect(Promise.race([slow.waits, slowEnters])).resolves.toBe('waits')
    })
    expect(await slowEnters).toBe('in')
  })

  it('keeps its directory small and forgets claims of the dead', async () => {
    const { directory, lock } = await setup()
    await writeFile(join(directory, `claim-${deadHolder}.00ff`), deadHolder)
    for (let round = 0; round < 40; round++) await lock.hold(() => Promise.resolve())
    const names = await readdir(directory)
    expect(names).toHaveLength(16)
    expect(names).toContain('40')
    expect(await readFile(join(directory, '40'), 'utf8')).toBe('released')
  })
})

/** A lock that tells when it waits, and that can be made to stand still before it claims a generation. */
function watchedLock(directory: string, options: { standStillAt?: number } = {}) {
  const waiting = gate()
  const standing = gate()
  const going = gate()
  const lock = new DirectoryLock(directory, {
    pauseBefore: async (step, generation) => {
      if (step === 'wait') waiting.open()
      if (step === 'wait' || generation !== options.standStillAt) return
      standing.open()
      await going.opened
    },
  })
  return { lock, waits: waiting.opened.then(() => 'waits'), stands: standing.opened, goOn: going.open }
}

function gate() {
  const emitter = new EventEmitter()
  return { opened: once(emitter, 'open'), open: () => void emitter.emit('open') }
}
