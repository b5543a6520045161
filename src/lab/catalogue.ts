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

/** A failure mode of a feature that is not built: there is nothing to play yet. */
export interface WaitingRow {
  readonly id: string
  readonly name: string
  readonly story: string
  readonly waitsFor: string
}

/** All failure modes, those that can be played and those that wait. */
export function catalogueDirectories(): string[] {
  return readdirSync(root)
    .filter((name) => /^FM_\d{3}_/.test(name))
    .sort()
}

export function bundleDirectories(): string[] {
  return catalogueDirectories().filter((directory) => !waitingRow(directory))
}

export function waitingRows(): WaitingRow[] {
  return catalogueDirectories().flatMap((directory) => waitingRow(directory) ?? [])
}

/** The spec of one that waits says so in its first lines. */
function waitingRow(directory: string): WaitingRow | undefined {
  const spec = readIfPresent(join(root, directory, 'spec.md')) ?? ''
  const [, id, name] = /^# (FM_\d{3}): (.+)$/m.exec(spec) ?? []
  const [, waitsFor] = /^Waits for: (.+)$/m.exec(spec) ?? []
  const [, story] = /^Story: (.+)$/m.exec(spec) ?? []
  return id && name && waitsFor && story ? { id, name, story, waitsFor } : undefined
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
