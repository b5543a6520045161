import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { playPeer } from '../../src/lab/peer-plays.js'
import type { PeerResult } from '../../src/lab/peer-result.js'
import { packageRoot } from '../../src/package-root.js'
import { setup } from '../harness/setup.js'

const stored = JSON.parse(readFileSync(join(packageRoot, 'docs', 'comparison.json'), 'utf8')) as PeerResult[]

/** One of each kind: a lease, a budget, an enqueue, a cancel. All of them take minutes: `npm run comparison`. */
const some = ['FM_001', 'FM_003', 'FM_012', 'FM_023', 'FM_031']

it.each(some)('%s, played with Fencepost as it is with peers, comes out as docs/comparison.json says', async (id) => {
  const { url, sql } = await setup()
  const [result, ...others] = await playPeer('fencepost', { url, ids: [id], repeat: 1 })

  expect(others).toEqual([])
  const told = stored.find((each) => each.id === id && each.peer === 'fencepost')
  expect(told?.verdict).toBe('holds')
  expect(result).toMatchObject({ peer: 'fencepost', id, verdict: 'holds' })
  expect(await sql(`select nspname from pg_namespace where nspname like 'fencepost\\_peer\\_%'`)).toEqual([])
})

it('a failure mode that is not played has no result', async () => {
  const { url } = await setup()
  expect(await playPeer('fencepost', { url, ids: ['FM_999'], repeat: 1 })).toEqual([])
})
