import { describe, expect, it } from 'vitest'
import { timelineLines } from '../../src/cli/lab-timeline.js'
import { findBundle, playBoth } from '../../src/lab/lab.js'
import { setup } from '../harness/setup.js'

const plain = (_: string, text: string) => text

describe('two plays side by side', () => {
  it('say at which step it broke, and which rows show it, and leave nothing behind', async () => {
    const { url, sql } = await setup()
    const bundle = await findBundle('FM_014')

    const { naive, guarded } = await playBoth(bundle, url)

    expect(naive.violations[naive.brokeAt.indexOf(5)]).toBe('INV_007: 2 jobs ran at the same time, the limit is 1')
    expect(guarded.brokeAt).toEqual([])
    const lines = timelineLines(bundle, naive, guarded, { paint: plain, width: Number.POSITIVE_INFINITY })
    expect(lines.find((line) => line.includes('looks for work'))).toMatch(
      /✗ +5 +B +looks for work +lease 2 +nothing to claim/,
    )
    expect(lines).toContain('    INV_007: 2 jobs ran at the same time, the limit is 1 (✗ 5)')
    expect(lines).toContain('  the rows that differ after ✗ 5')
    expect(lines.find((line) => line.startsWith('  jobs'))).toMatch(/#2 leased, tries 1, .*by B +#2 waiting, tries 0/)
    expect(await sql(`select nspname from pg_namespace where nspname ~ '_lab_'`)).toEqual([])
  })

  it('are written one below the other where they do not fit beside each other', async () => {
    const bundle = await findBundle('FM_014')
    const steps = [
      { by: 'A', does: 'says something', note: 'a note that is rather long '.repeat(3).trim(), commits: 1 },
      { by: 'B', does: 'says something, too', note: 'the same', commits: 1 },
    ]
    const naive = {
      steps,
      violations: ['INV_001: it broke'],
      brokeAt: [1],
      rows: [{ table: 'jobs', row: '#1 failed' }],
    }
    const guarded = {
      steps: steps.map((step, n) => (n === 0 ? { ...step, note: 'fine' } : step)),
      violations: [],
      brokeAt: [],
      rows: [{ table: 'jobs', row: '#1 succeeded' }],
    }

    const lines = timelineLines(bundle, naive, guarded, { paint: plain, width: 80 })

    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(lines.slice(4)).toEqual([
      '  1. ✗ A: says something',
      '      without  a note that is rather long a note that is rather long a note that',
      '               is rather long',
      '      with     fine',
      '  2. B: says something, too',
      '      both     the same',
      '',
      '  without the guard: violated',
      '    INV_001: it broke (✗ 1)',
      '  with the guard: held',
      '',
      '  the rows that differ after ✗ 1',
      '  table  without the guard  with the guard',
      '  jobs   #1 failed          #1 succeeded',
    ])
  })
})
