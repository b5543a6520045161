import { inject } from 'vitest'
import { findBundle, playRecoveries, type Recoveries } from '../../src/lab/lab.js'
import { type Played, play } from '../../src/lab/play.js'

/** A failure mode's bundle on the server under test. */
export async function bundleUnderTest(id: string) {
  const bundle = await findBundle(id)
  const url = inject('serverUrl')
  /** The parts of naive.sql that begin with `-- layer n`. */
  const layer = (n: number): string => {
    const found = bundle.naive?.split(/^(?=-- layer )/m).find((part) => part.startsWith(`-- layer ${n}`))
    if (!found) throw new Error(`the naïve version of ${id} has no layer ${n}`)
    return found
  }
  return {
    /** The scenario with the guard replaced by its naïve version. */
    repro: (): Promise<Played> => play(bundle, url, 'naive'),
    /** The scenario with the real engine. */
    prevent: (): Promise<Played> => play(bundle, url, 'guarded'),
    /** With one layer of the guard replaced: the other ones alone. */
    preventWithoutLayer: (n: number): Promise<Played> => play({ ...bundle, naive: layer(n) }, url, 'naive'),
    layer,
    /** The scenario with the real engine, an actor killed at each fault point in turn. */
    recover: async (): Promise<Recoveries> => playRecoveries(bundle, url, await play(bundle, url, 'guarded')),
  }
}

/** What a step came to. */
export function noteOf(played: Played, by: string, does: string): string | undefined {
  return played.steps.find((step) => step.by === by && step.does === does)?.note
}
