import { expect, it } from 'vitest'
import { Events } from '../../src/events.js'
import { attachLogger, type Logger } from '../../src/observe/log.js'
import { double, hopeless, setupClient } from '../client/setup.js'

type Line = Record<string, unknown> & { level: string; message: string }

function notebook(): { logger: Logger; lines: Line[] } {
  const lines: Line[] = []
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields })
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

it('writes a line for every event of a job, with what is known of it', async () => {
  const { fp } = await setupClient()
  const { logger, lines } = notebook()
  attachLogger(fp, logger)
  const { id: worker } = await fp.work([double, hopeless], { poll: '10ms' })

  const good = await fp.enqueue(double, { n: 2 })
  await good.result()
  const bad = await fp.enqueue(hopeless, null)
  await expect(bad.result()).rejects.toThrow('no hope')

  const attempt = { queue: 'default', worker, attempt: 1 }
  const ofGood = { jobId: good.id, task: 'double' }
  expect(lines.filter(({ jobId }) => jobId === good.id).sort((a, b) => (a.message < b.message ? -1 : 1))).toEqual([
    { level: 'debug', message: 'claimed', event: 'claimed', ...ofGood, ...attempt },
    { level: 'debug', message: 'enqueued', event: 'enqueued', ...ofGood, queue: 'default' },
    {
      level: 'info',
      message: 'finished',
      event: 'finished',
      ...ofGood,
      ...attempt,
      durationMs: expect.any(Number) as number,
    },
  ])
  expect(lines.find(({ level }) => level === 'error')).toEqual({
    level: 'error',
    message: 'failed for good: the job ended as failed',
    event: 'failed',
    jobId: bad.id,
    task: 'hopeless',
    ...attempt,
    outcome: 'failed',
    durationMs: expect.any(Number) as number,
    err: expect.objectContaining({ message: 'no hope' }) as Error,
  })
})

it('chooses the level by what it cost, and stops when asked', () => {
  const events = new Events()
  const { logger, lines } = notebook()
  const stop = attachLogger(events, logger)
  const jobId = 'j'
  const error = new Error('boom')

  events.emit('failed', { jobId, task: 't', attempt: 1, error, outcome: null })
  events.emit('lost', { jobId, task: 't', queue: 'q', leaseId: 1, worker: 'w', started: true, outcome: null })
  events.emit('lost', { jobId, task: 't', queue: 'q', leaseId: 1, worker: 'w', started: true, outcome: 'failed' })
  events.emit('stale', { jobId, task: 't', queue: 'q', leaseId: 1, said: 'succeeded', outcome: null })
  events.emit('stale', { jobId, task: 't', queue: 'q', leaseId: 1, said: 'failed', outcome: null })
  events.emit('duplicate_success', { jobId, leaseId: 1 })
  events.emit('released', { jobId, task: 't', reason: 'shutdown' })
  events.emit('promoted', { jobId, from: 'delayed' })
  events.emit('error', { during: 'the heartbeat', error })
  stop()
  events.emit('error', { during: 'nothing', error })

  expect(lines.map(({ event, level }) => `${event as string} ${level}`)).toEqual([
    'failed warn',
    'lost warn',
    'lost error',
    'stale warn',
    'stale info',
    'duplicate_success error',
    'released info',
    'promoted debug',
    'error error',
  ])
  expect(lines.at(-1)).toEqual({
    level: 'error',
    message: 'trouble during the heartbeat',
    event: 'error',
    during: 'the heartbeat',
    err: error,
  })
})

it('knows the next lease of a job that is claimed again before the end of the last one was forgotten', async () => {
  const events = new Events()
  const { logger, lines } = notebook()
  attachLogger(events, logger)
  const claimed = (attempt: number) => ({ jobId: 'j', task: 't', queue: 'mail', worker: 'w', attempt })

  events.emit('claimed', claimed(1))
  events.emit('released', { jobId: 'j', task: 't', reason: 'shutdown' })
  events.emit('claimed', claimed(2))
  await Promise.resolve()
  events.emit('released', { jobId: 'j', task: 't', reason: 'shutdown' })

  expect(lines.filter(({ event }) => event === 'released')).toMatchObject([
    { attempt: 1, queue: 'mail' },
    { attempt: 2, queue: 'mail' },
  ])
})

it('hides what is hidden just then in what was thrown, and gives listeners the rest as it is', () => {
  const events = new Events()
  const { logger, lines } = notebook()
  attachLogger(events, logger)
  const heard: unknown[] = []
  events.on('error', ({ error }) => heard.push(error))
  class Refused extends TypeError {
    readonly #why = 'hunter2'
    get why() {
      return this.#why
    }
    override get message() {
      return `no ${this.#why}`
    }
  }
  const proxy = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('hunter2')
      },
    },
  )
  const error = Object.assign(new Refused(undefined, { cause: 'hunter2' }), {
    code: 4711,
    at: new URL('https://x/?a=hunter2'),
    bytes: Buffer.from('hunter2'),
    call: () => 'hunter2',
    proxy,
  })

  const reveal = events.hide(['hunter2', 4711])
  const other = events.hide(['hunter2'])
  for (const thrown of [error, 'hunter2', [{ hunter2: 4711, ok: 4712 }], undefined]) {
    events.emit('error', { during: 'x', error: thrown })
  }
  reveal()
  events.emit('error', { during: 'x', error: 'hunter2 4711' })
  other()
  events.emit('error', { during: 'x', error })

  const [first, ...others] = lines.map(({ err }) => err)
  expect(first).toBeInstanceOf(Refused)
  expect({ ...(first as object) }).toEqual({ code: '•••', at: 'https://x/?a=•••', bytes: '…', call: '…', proxy: '…' })
  const { message, stack, cause } = first as Error
  expect([message, cause]).toEqual(['no •••', '•••'])
  expect(stack).toMatch(/log\.test\.ts/)
  expect(others).toEqual(['•••', [{ '•••': '•••', ok: 4712 }], undefined, '••• 4711', error])
  expect(others.at(-1)).toBe(error)
  expect(heard.map((each) => each === error)).toEqual([true, false, false, false, false, true])
})
