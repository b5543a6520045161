import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../package-root.js'
import type { Scenario } from './scenario.js'

/** One failure mode: `failure-modes/FM_nnn_name/`. */
export interface Bundle {
  readonly directory: string
  readonly scenario: Scenario
  /** SQL that replaces the functions of the guard, in all its layers, by their naïve versions. */
  readonly naive: string | undefined
}

const root = join(packageRoot, 'failure-modes')

export function bundleDirectories(): string[] {
  return readdirSync(root)
    .filter((name) => /^FM_\d{3}_/.test(name))
    .sort()
}

/** Scenarios run compiled: their actors are processes of their own. */
export async function loadBundle(directory: string): Promise<Bundle> {
  const module = pathToFileURL(join(packageRoot, 'dist', 'failure-modes', directory, 'scenario.js'))
  const { default: scenario } = (await import(module.href)) as { default: Scenario }
  return { directory, scenario, naive: readIfPresent(join(root, directory, 'naive.sql')) }
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
