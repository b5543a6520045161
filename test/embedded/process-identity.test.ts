import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { commandLineOf, isAlive, isPidTaken, isRunning, ownIdentity } from '../../src/embedded/process-identity.js'
import { until } from './setup.js'

const onLinux = process.platform === 'linux'

describe('a process', () => {
  it('knows itself', () => {
    expect(isAlive(ownIdentity())).toBe(true)
    expect(isRunning(process.pid)).toBe(true)
    expect(commandLineOf(process.pid)).toContain('node')
  })

  it.skipIf(!onLinux)('is not an earlier one that had its pid', () => {
    expect(isAlive(`${process.pid}-1-00000000`)).toBe(false)
  })

  it('is judged by its pid alone where the system does not tell its start', () => {
    expect(isAlive(`${process.pid}-unknown`)).toBe(true)
    expect(isAlive('999999999-unknown')).toBe(false)
  })

  it.each(['', 'released', '-1', '0-1', '-5-x', 'x-y'])('is not named by %j', (text) => {
    expect(isAlive(text)).toBe(false)
  })

  it.skipIf(!onLinux)('that has ended but was never collected does not run, though its pid is taken', async () => {
    // `exec` replaces the shell by a program that knows nothing of the shell's child.
    const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = await once(parent.stdout, 'data')
    const pid = Number(String(line))
    await until(() => Promise.resolve(!isRunning(pid)))
    expect(isPidTaken(pid)).toBe(true)
  })
})
