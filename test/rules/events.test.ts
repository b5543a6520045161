import { describe, expect, it, vi } from 'vitest'
import { type EventName, Events } from '../../src/events.js'

describe('events', () => {
  it('reach every listener until it stops listening', () => {
    const events = new Events()
    const [first, second] = [vi.fn(), vi.fn()]
    const stop = events.on('retried', first)
    events.on('retried', second)

    events.emit('retried', { jobId: 'a' })
    stop()
    stop()
    events.emit('retried', { jobId: 'b' })

    expect(first.mock.calls).toEqual([[{ jobId: 'a' }]])
    expect(second.mock.calls).toEqual([[{ jobId: 'a' }], [{ jobId: 'b' }]])
  })

  it('survive a listener that throws, and one that rejects', async () => {
    const events = new Events()
    const [others, errors] = [vi.fn(), vi.fn()]
    const [thrown, rejected] = [new Error('thrown'), new Error('rejected')]
    events.on('error', errors)
    events.on('retried', () => {
      throw thrown
    })
    events.on('retried', () => Promise.reject(rejected) as never)
    events.on('retried', others)

    events.emit('retried', { jobId: 'a' })
    await Promise.resolve()

    expect(others).toHaveBeenCalledOnce()
    expect(errors.mock.calls).toEqual([
      [{ during: 'a listener of retried', error: thrown }],
      [{ during: 'a listener of retried', error: rejected }],
    ])
  })

  it('survive a listener of `error` that throws or rejects, and an error that nobody hears', async () => {
    const events = new Events()
    expect(() => events.emit('error', { during: 'x', error: new Error('x') })).not.toThrow()
    events.on('error', () => {
      throw new Error('again')
    })
    events.on('error', () => Promise.reject(new Error('again')) as never)
    expect(() => events.emit('error', { during: 'x', error: new Error('x') })).not.toThrow()
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('may have many listeners without a warning', async () => {
    const warned = vi.fn()
    process.on('warning', warned)
    const events = new Events()
    for (let i = 0; i < 100; i++) events.on('finished', () => {})
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', warned)
    expect(warned).not.toHaveBeenCalled()
  })

  it('have names that are known, and listeners that can be called', () => {
    const events = new Events()
    expect(() => events.on('finnished' as EventName, () => {})).toThrow(
      expect.objectContaining({ code: 'FP_OPTION_INVALID', hint: expect.stringContaining('finished, failed') }),
    )
    expect(() => events.on('finished', undefined as never)).toThrow(
      expect.objectContaining({ code: 'FP_OPTION_INVALID' }),
    )
  })
})
