import { once } from 'node:events'
import { EventEmitter } from 'node:events'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { onTestFinished } from 'vitest'
import { type EventName, type Fencepost, type FencepostEvents, fencepost } from '../../src/index.js'
import { setup } from '../harness/setup.js'

/** Takes anything. */
export const anything: StandardSchemaV1<unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

/** A client on a database of the test's own, and words for waiting. */
export async function setupWorker() {
  const bundle = await setup()
  const client = async (): Promise<Fencepost> => {
    const fp = await fencepost({ database: bundle.url, migrate: false })
    onTestFinished(() => fp.close())
    return fp
  }
  return {
    ...bundle,
    fp: await client(),
    client,
    /** Lets every lease that is held now run out, and takes it back, before any heartbeat can come between. */
    loseAll: () =>
      bundle.sql(
        `do $$ begin update fencepost.lab_clock set offset_ms = offset_ms + 60000; perform fencepost.lose(); end $$`,
      ),
  }
}

/** The next event of that name. */
export function next<Name extends EventName>(fp: Fencepost, name: Name): Promise<FencepostEvents[Name]> {
  return new Promise((resolve) => {
    const stop = fp.on(name, (event) => {
      stop()
      resolve(event)
    })
  })
}

/** A door that a handler waits at, and a bell that tells that it has come there. */
export function door() {
  const events = new EventEmitter()
  let isOpen = false
  return {
    pass: async () => {
      events.emit('reached')
      if (!isOpen) await once(events, 'open')
    },
    reached: () => once(events, 'reached'),
    open: () => {
      isOpen = true
      events.emit('open')
    },
  }
}
