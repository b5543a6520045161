import { inject } from 'vitest'
import { findBundle, playRecoveries, type Recoveries } from '../../src/lab/lab.js'
import { type Played, play, playRepeatedly } from '../../src/lab/play.js'

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
    /**
     * The scenario with the guard replaced by its naïve version, three times in a row: the last play, or the first that
     * broke nothing. (With the guard it is played three times, too: by `prevent` on each of two servers, and by `recover`.)
     */
    repro: async (): Promise<Played> => {
      const expected = ({ violations }: Played) => violations.length > 0
      return (await playRepeatedly(bundle, url, 'naive', { rounds: 3, expected })).at(-1) as Played
    },
    /** The scenario with the real engine. */
    prevent: (): Promise<Played> => play(bundle, url, 'guarded'),
    /** With one layer of the guard replaced: the other ones alone. */
    preventWithoutLayer: (n: number): Promise<Played> => play({ ...bundle, naive: layer(n) }, url, 'naive'),
    layer,
    /** The scenario with the real engine, an actor killed at each fault point in turn. */
    recover: async (): Promise<Recoveries> => (await playRecoveries(bundle, url)).recoveries,
  }
}

/** What a step came to. */
export function noteOf(played: Played, by: string, does: string): string | undefined {
  return played.steps.find((step) => step.by === by && step.does === does)?.note
}
