import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { disownPostmasterFile, readPostmasterFile } from '../../src/embedded/postmaster-file.js'
import { isThere, temporaryDirectory } from './setup.js'

const rest = ['/app/data', '1763242904', '44971', '', '127.0.0.1', '  1234567   8', 'ready   ', '']

async function setup(lines: readonly (string | number)[]) {
  const data = join(await temporaryDirectory(), 'data')
  await mkdir(data)
  await writeFile(join(data, 'postmaster.pid'), lines.join('\n'))
  return data
}

describe('postmaster.pid', () => {
  it('tells pid, port and status', async () => {
    expect(await readPostmasterFile(await setup([4711, ...rest]))).toEqual({ pid: 4711, port: 44_971, status: 'ready' })
  })

  it('tells little while the server has only begun to write it', async () => {
    expect(await readPostmasterFile(await setup([4711, '']))).toEqual({ pid: 4711, port: 0, status: '' })
    expect(await readPostmasterFile(await temporaryDirectory())).toBeUndefined()
  })

  it('loses its pid and nothing else when it is disowned', async () => {
    const data = await setup([4711, ...rest])
    await disownPostmasterFile(data, 4711)
    const [pid, ...others] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
    expect(isThere(Number(pid))).toBe(false)
    expect(Number(pid)).toBeGreaterThan(0)
    expect(others).toEqual(rest)
  })

  it('is left alone when another server has taken it meanwhile', async () => {
    const data = await setup([4712, ...rest])
    await disownPostmasterFile(data, 4711)
    expect(await readPostmasterFile(data)).toMatchObject({ pid: 4712 })
  })
})
