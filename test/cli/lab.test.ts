import { expect, it } from 'vitest'
import { setup } from '../harness/setup.js'
import { cli } from './cli-process.js'

it('lists every failure mode with a line of its story, and those that wait with what they wait for', async () => {
  const { code, stdout } = await cli(['lab'])

  expect(code).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(55)
  expect(lines.find((line) => line.startsWith('FM_014'))).toMatch(
    /Limit expires under a running holder +A job runs for/,
  )
  expect(lines.find((line) => line.startsWith('FM_032'))).toContain('(waits for schedules) Two processes tick')
})

it('lists them for programs, too', async () => {
  const { stdout } = await cli(['lab', '--json'])

  const rows = JSON.parse(stdout) as { id: string; waits_for?: string }[]
  expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort())
  expect(rows.filter((row) => row.waits_for).map(({ id, waits_for }) => [id, waits_for])).toEqual([
    ['FM_032', 'schedules'],
    ['FM_035', 'unique keys'],
  ])
})

it('says of one that waits that there is nothing to play', async () => {
  expect(await cli(['lab', 'FM_035'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('waits for unique keys: there is nothing to play yet'),
  })
  expect(JSON.parse((await cli(['lab', '32', '--json'])).stdout)).toMatchObject({
    id: 'FM_032',
    waits_for: 'schedules',
  })
})

it('refuses an id that is none, and says where they are listed', async () => {
  const { code, stderr } = await cli(['lab', 'FM_099'])

  expect(code).not.toBe(0)
  expect(stderr).toContain('FM_099 (FP_LAB_UNKNOWN)')
  expect(stderr).toContain('fencepost lab')
})

it('says that the database is away, and not that this were a fault of its own', async () => {
  const { code, stderr } = await cli(['lab', 'FM_026'], { url: 'postgres://nobody@127.0.0.1:1/none' })

  expect(code).not.toBe(0)
  expect(stderr).toContain('FP_DATABASE_UNREACHABLE')
  expect(stderr).not.toContain('bug')
})

it('plays one that is named in short, draws both plays, and leaves the database as it was', async () => {
  const { url, sql } = await setup()
  const schemas = () => sql('select nspname from pg_namespace order by 1')
  const before = await schemas()

  const { code, stdout } = await cli(['lab', '26'], { url })

  expect(code).toBe(0)
  expect(stdout).toMatch(/^FM_026 /)
  expect(stdout).toMatch(/without the guard: violated\n +INV_010: .* \(✗ \d+\)/)
  expect(stdout).toMatch(/with the guard: held/)
  expect(stdout).toMatch(/crashes: killed at \d+ points, recovered from all/)
  expect(await schemas()).toEqual(before)
}, 120_000)
