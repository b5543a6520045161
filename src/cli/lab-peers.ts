import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FencepostError } from '../errors.js'
import { peerScripts, peersNamed } from '../lab/peer-catalogue.js'
import { playPeer } from '../lab/peer-plays.js'
import { mergedResults, type PeerResult } from '../lab/peer-result.js'
import { withComparison } from '../lab/peer-table.js'
import { packageRoot } from '../package-root.js'
import { checkedInteger } from '../task/options.js'
import { type Colour, paintFor } from './colours.js'
import type { GlobalOptions } from './global-options.js'
import { wholeNumber } from './option-values.js'
import { withServer } from './server-session.js'

export interface PeerOptions extends GlobalOptions {
  readonly peer: string
  readonly repeat?: string
  readonly write?: boolean
}

const repeatMax = 20

/** Plays the scenarios that a peer's public API can express, and tells which hold there. */
export async function playPeers(id: string | undefined, options: PeerOptions): Promise<void> {
  const peers = peersNamed(options.peer)
  const repeat = checkedInteger(wholeNumber(options.repeat ?? '1'), '--repeat', 1, repeatMax)
  // Before any server is started: most likely they are not installed.
  for (const peer of peers) peerScripts(peer)
  const ids = id === undefined ? undefined : [id.toUpperCase()]
  const results = await withServer(options, async ({ url }) => {
    const all: PeerResult[] = []
    for (const peer of peers) {
      all.push(...(await playPeer(peer, { url, ids, repeat, ...(!options.json && { onResult: print }) })))
    }
    return all
  })
  if (results.length === 0) throw new FencepostError('FP_LAB_UNKNOWN', `${id} is not played with peers`)
  if (options.json) {
    console.log(
      JSON.stringify(
        results.map(({ peer, version, id: mode, verdict, seen, settings }) => ({
          peer,
          version,
          id: mode,
          verdict,
          seen,
          settings,
        })),
      ),
    )
  }
  const stuck = results.filter(({ verdict }) => verdict === 'no verdict')
  if (stuck.length > 0) process.exitCode = 1
  if (options.write) write(results.filter((result) => !stuck.includes(result)))
}

function print({ peer, version, id, verdict, seen, settings }: PeerResult): void {
  const paint = paintFor(process.stdout)
  console.log(`${id}  ${peer} ${version}  ${paint(colourOf(verdict), verdict)}  ${seen}`)
  for (const setting of settings) console.log(paint('dim', `          ${setting}`))
}

function colourOf(verdict: string): Colour {
  if (verdict === 'holds') return 'green'
  return verdict.includes('broken') ? 'red' : 'dim'
}

/** docs/comparison.json, and the part of docs/comparison.md that is made from it. What has no verdict is left out. */
function write(fresh: readonly PeerResult[]): void {
  const [stored, page] = ['comparison.json', 'comparison.md'].map((file) => join(packageRoot, 'docs', file)) as [
    string,
    string,
  ]
  const old = existsSync(stored) ? (JSON.parse(readFileSync(stored, 'utf8')) as PeerResult[]) : []
  const results = mergedResults(old, fresh)
  writeFileSync(stored, `${JSON.stringify(results, undefined, 2)}\n`)
  writeFileSync(page, withComparison(readFileSync(page, 'utf8'), results))
}
