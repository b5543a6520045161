import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { peerNames } from '../../src/lab/peer-catalogue.js'
import type { PeerResult } from '../../src/lab/peer-result.js'
import { withComparison } from '../../src/lab/peer-table.js'
import { packageRoot, packageVersion } from '../../src/package-root.js'

const read = (...path: string[]) => readFileSync(join(packageRoot, ...path), 'utf8')
const results = JSON.parse(read('docs', 'comparison.json')) as PeerResult[]
const page = read('docs', 'comparison.md')

describe('docs/comparison.md', () => {
  it('says what the stored results say (npm run comparison)', () => {
    expect(page).toBe(withComparison(page, results))
  })

  it('has a cell for every scenario and every peer, each with a verdict, each played three times', () => {
    const ids = [...new Set(results.map(({ id }) => id))]
    const cells = results.map(({ id, peer }) => `${id} ${peer}`)
    expect(cells).toEqual(ids.flatMap((id) => peerNames.map((peer) => `${id} ${peer}`)))
    const verdicts = /^(holds|broken|sometimes broken \([12] of 3\)|not expressible)$/
    expect(results.filter(({ verdict }) => !verdicts.test(verdict))).toEqual([])
    expect(results.filter(({ verdict, plays }) => plays !== (verdict === 'not expressible' ? 0 : 3))).toEqual([])
  })

  it('is about the versions that are installed for the plays', () => {
    const { dependencies } = JSON.parse(read('bench', 'peers', 'package.json')) as {
      dependencies: Record<string, string>
    }
    const pinned: Record<string, string | undefined> = { ...dependencies, fencepost: packageVersion }
    expect(results.filter(({ peer, version }) => version !== pinned[peer])).toEqual([])
  })

  it('names failure modes of the catalogue, by scripts that exist', () => {
    expect(existsSync(join(packageRoot, 'bench', 'peers', 'plays', 'scenarios', 'all.js'))).toBe(true)
    expect(results.filter(({ id }) => !/^FM_\d{3}$/.test(id))).toEqual([])
  })
})
