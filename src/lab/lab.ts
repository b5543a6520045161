import { FencepostError } from '../errors.js'
import { type Bundle, bundleDirectories, loadBundle } from './catalogue.js'
import type { EvidenceRow } from './evidence.js'
import { type Played, play, playTraced, playWithFaults, type TracedPlay } from './play.js'
import type { Step } from './scenario.js'

export interface Verdict {
  readonly id: string
  readonly name: string
  /** With the guard replaced by its naïve version the invariant must break, or the guard protects nothing. */
  readonly baseline: 'violated' | 'held'
  readonly guarded: 'held' | 'violated'
  /** Killed at every fault point, the system reached the right end by itself. */
  readonly recovered: boolean
}

export function listBundles(): Promise<Bundle[]> {
  return Promise.all(bundleDirectories().map(loadBundle))
}

/** As it is written in full: 14, fm14 and fm_014 are FM_014. */
export function failureModeId(text: string): string {
  const [, number] = /^(?:fm_?)?(\d{1,3})$/i.exec(text) ?? []
  return number ? `FM_${number.padStart(3, '0')}` : text.toUpperCase()
}

export async function findBundle(id: string): Promise<Bundle> {
  const directory = bundleDirectories().find((name) => name.slice(0, 6) === failureModeId(id))
  if (!directory) throw new FencepostError('FP_LAB_UNKNOWN', id)
  return loadBundle(directory)
}

/** A play as somebody sees it who looks at it. */
export interface SeenPlay extends Played {
  /** The steps (from 1) since which the violations show, one for each. */
  readonly brokeAt: readonly number[]
  /** What the tables said when it first broke without the guard. */
  readonly rows: readonly EvidenceRow[]
}

/** The scenario without and with the guard, for somebody who looks. */
export async function playBoth(bundle: Bundle, url: string): Promise<{ naive: SeenPlay; guarded: SeenPlay }> {
  const [naive, guarded] = [await playTraced(bundle, url, 'naive'), await playTraced(bundle, url, 'guarded')]
  const firstBroken = Math.min(naive.steps.length, ...naive.brokeAt)
  const seen = ({ rowsAfter, ...played }: TracedPlay): SeenPlay => ({
    ...played,
    rows: rowsAfter[Math.min(firstBroken, played.steps.length)] ?? [],
  })
  return { naive: seen(naive), guarded: seen(guarded) }
}

export interface Recoveries {
  readonly points: number
  /** Where the system did not come to the right end by itself. */
  readonly broken: readonly string[]
}

/** Kills an actor at every fault point in turn, after a play that shows where these are. */
export async function playRecoveries(
  bundle: Bundle,
  url: string,
): Promise<{ undisturbed: Played; recoveries: Recoveries }> {
  const { undisturbed, crashes } = await playWithFaults(bundle, url)
  const broken = crashes.flatMap(({ point: { step, commit }, played }) => {
    const { by, does } = bundle.scenario.steps[step] as Step
    const where = commit === 0 ? `before "${by} ${does}"` : `at commit ${commit} of "${by} ${does}"`
    return played.violations.map((violation) => `killed ${where}: ${violation}`)
  })
  return { undisturbed, recoveries: { points: crashes.length, broken } }
}

export async function judge(bundle: Bundle, url: string): Promise<Verdict> {
  const naive = await play(bundle, url, 'naive')
  const { undisturbed, recoveries } = await playRecoveries(bundle, url)
  return verdictOf(bundle, naive, undisturbed, recoveries)
}

export function verdictOf({ scenario }: Bundle, naive: Played, guarded: Played, { broken }: Recoveries): Verdict {
  return {
    id: scenario.id,
    name: scenario.name,
    baseline: naive.violations.length > 0 ? 'violated' : 'held',
    guarded: guarded.violations.length === 0 ? 'held' : 'violated',
    recovered: broken.length === 0,
  }
}
