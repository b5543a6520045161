import { expect, it, onTestFinished, vi } from 'vitest'
import { Listener } from '../../src/store/listener.js'
import { setup } from '../harness/setup.js'

it('does not come back after it was closed', async () => {
  const { url } = await setup()
  const listener = await new Promise<Listener>((resolve, reject) => {
    const made: Listener = new Listener(url, 'test', () => resolve(made), reject)
  })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())

  await listener.close()

  expect(vi.getTimerCount()).toBe(0)
})

it('looks for what was notified while it was away', async () => {
  const { url, sql } = await setup()
  const heard: string[] = []
  const listener = new Listener(
    url,
    'test',
    (payload) => heard.push(payload),
    () => {},
  )
  onTestFinished(() => listener.close())
  await expect.poll(() => heard, { timeout: 5_000 }).toEqual([''])

  await sql(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'fencepost listener' and datname = current_database()`)

  await expect.poll(() => heard, { timeout: 5_000 }).toEqual(['', ''])
})
