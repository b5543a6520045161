import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type PeerName, peerNames, peerScripts, peersNamed } from '../../src/lab/peer-catalogue.js'
import { startRedis } from '../../src/lab/peer-redis.js'
import { mergedResults, type PeerResult } from '../../src/lab/peer-result.js'
import { comparisonLines, withComparison } from '../../src/lab/peer-table.js'

function aResult(id: string, peer: PeerName, verdict: string, more: Partial<PeerResult> = {}): PeerResult {
  return {
    peer,
    version: '1.0.0',
    server: 'PostgreSQL 18.0',
    date: '2026-01-02',
    id,
    name: `name of ${id}`,
    story: 'A runs; B runs',
    verdict,
    seen: `what was seen of ${peer}`,
    settings: [],
    plays: 3,
    ...more,
  }
}

/** A directory that looks like a clone in which these packages are installed for the plays. */
async function aClone({ plays = true, installed = [] as string[] } = {}): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'fencepost-clone-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const home = join(root, 'bench', 'peers')
  if (plays) {
    await mkdir(join(home, 'plays'), { recursive: true })
    await writeFile(join(home, 'plays', 'run.js'), '')
  }
  for (const name of installed) await mkdir(join(home, 'node_modules', name), { recursive: true })
  if (installed.includes('node')) {
    await mkdir(join(home, 'node_modules', 'node', 'bin'))
    await writeFile(join(home, 'node_modules', 'node', 'bin', 'node'), '')
  }
  return root
}

describe('the name of a peer', () => {
  it('is one of them, or all', () => {
    expect(peersNamed('bullmq')).toEqual(['bullmq'])
    expect(peersNamed('all')).toEqual(peerNames)
  })

  it('that nobody has is answered with the nearest one', () => {
    expect(() => peersNamed('pgboss')).toThrow(
      expect.objectContaining({
        code: 'FP_PEER_UNKNOWN',
        hint: 'Did you mean pg-boss? There are fencepost, pg-boss, graphile-worker, bullmq, and all.',
      }),
    )
    expect(() => peersNamed('celery')).toThrow(
      expect.objectContaining({ hint: 'There are fencepost, pg-boss, graphile-worker, bullmq, and all.' }),
    )
  })
})

describe('a peer that is not installed', () => {
  it('is an error that says how to install it', async () => {
    const missing = expect.objectContaining({
      code: 'FP_PEER_MISSING',
      hint: expect.stringContaining('npm ci --prefix bench/peers') as string,
    })
    const [published, fresh, withoutNode] = [
      await aClone({ plays: false }),
      await aClone(),
      await aClone({ installed: ['bullmq'] }),
    ]
    expect(() => peerScripts('fencepost', published)).toThrow(missing)
    expect(() => peerScripts('bullmq', fresh)).toThrow(missing)
    expect(() => peerScripts('bullmq', withoutNode)).toThrow(missing)
  })

  it('is not asked for by the plays with Fencepost itself', async () => {
    const root = await aClone()
    expect(peerScripts('fencepost', root)).toEqual({
      script: join(root, 'bench', 'peers', 'plays', 'run.js'),
      node: process.execPath,
    })
  })

  it('is run by the Node that was installed with it', async () => {
    const root = await aClone({ installed: ['node', 'bullmq'] })
    expect(peerScripts('bullmq', root).node).toBe(join(root, 'bench', 'peers', 'node_modules', 'node', 'bin', 'node'))
  })
})

it('without a Redis, the error says how to get one', async () => {
  await expect(startRedis({ program: 'no-such-redis-server' })).rejects.toMatchObject({
    code: 'FP_REDIS_MISSING',
    hint: expect.stringContaining('apt-get install redis-server') as string,
  })
})

describe('results', () => {
  it('take the place of older ones of the same cell, in the order of the table', () => {
    const old = [aResult('FM_002', 'bullmq', 'holds'), aResult('FM_001', 'bullmq', 'holds')]
    const fresh = [aResult('FM_001', 'bullmq', 'broken'), aResult('FM_001', 'fencepost', 'holds')]
    expect(mergedResults(old, fresh).map(({ id, peer, verdict }) => [id, peer, verdict])).toEqual([
      ['FM_001', 'fencepost', 'holds'],
      ['FM_001', 'bullmq', 'broken'],
      ['FM_002', 'bullmq', 'holds'],
    ])
  })

  it('become a table, and a sentence for each cell', () => {
    const lines = comparisonLines([
      aResult('FM_001', 'fencepost', 'holds', { settings: ['lease 1000'] }),
      aResult('FM_001', 'bullmq', 'sometimes broken (1 of 3)', { server: 'Redis 7.0', date: '2026-01-03' }),
      aResult('FM_002', 'bullmq', 'not expressible', { server: 'Redis 7.0' }),
    ])
    expect(lines).toEqual([
      'Played from 2026-01-02 to 2026-01-03.',
      '',
      '| | version | server | holds | broken | not expressible |',
      '| --- | --- | --- | ---: | ---: | ---: |',
      '| fencepost | 1.0.0 | PostgreSQL 18.0 | 1 | 0 | 0 |',
      '| bullmq | 1.0.0 | Redis 7.0 | 0 | 1 | 1 |',
      '',
      '| failure mode | fencepost | bullmq |',
      '| --- | --- | --- |',
      '| [FM_001](#fm_001) name of FM_001 | holds | **sometimes broken** (1 of 3) |',
      '| [FM_002](#fm_002) name of FM_002 | – | n/e |',
      '',
      '### FM_001',
      '',
      '**name of FM_001.** A runs; B runs.',
      '',
      '- **fencepost**: holds. What was seen of fencepost.',
      '  <br>`lease 1000`',
      '- **bullmq**: sometimes broken (1 of 3). What was seen of bullmq.',
      '',
      '### FM_002',
      '',
      '**name of FM_002.** A runs; B runs.',
      '',
      '- **bullmq**: not expressible. What was seen of bullmq.',
    ])
  })

  it('are put into their place on the page, and nothing else on it is touched', () => {
    const page = [
      'before',
      '<!-- results: begin (written by `npm run comparison`; do not edit) -->',
      'what was there',
      '<!-- results: end -->',
      'after',
    ].join('\n')
    const results = [aResult('FM_001', 'bullmq', 'holds')]
    const renewed = withComparison(page, results)
    expect(renewed).toMatch(/^before\n<!-- results: begin[^]*\| holds \|[^]*<!-- results: end -->\nafter$/)
    expect(renewed).not.toContain('what was there')
    expect(withComparison(renewed, results)).toBe(renewed)
    expect(() => withComparison('a page without a place', [])).toThrow('no place')
  })
})
