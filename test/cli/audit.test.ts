import { expect, it } from 'vitest'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../harness/setup.js'
import { cli, cliJson } from './cli-process.js'

it('says clean, with the number of warnings, and exits 0', async () => {
  const { url, db, add, take, advance } = await setup()
  expect(await cli(['audit'], { url })).toEqual({ code: 0, stdout: 'clean: 0 violations, 0 warnings\n', stderr: '' })

  const id = await add()
  const late = await take()
  await advance(31_000)
  await loseExpired(db)
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await finish(db, [{ ...late, resultText: '2' }])

  const { code, stdout } = await cli(['audit'], { url })
  expect(code).toBe(0)
  expect(stdout).toMatch(new RegExp(`^warning  INV_001  job ${id}: 2 attempts reported success\n  \\{.*\\}\n`))
  expect(stdout).toMatch(/\nclean: 0 violations, 1 warning\n$/)
})

it('shows the rows of a violation and exits 1', async () => {
  const { url, add, sql } = await setup()
  const id = await add()
  await sql(
    'insert into fencepost.delayed select job_id, now(), seq, 0, 0, 0, 0, 0, 0, 0, queue, task from fencepost.ready',
  )

  const { code, stdout, stderr } = await cli(['audit'], { url })
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toContain(`violation  INV_006  job ${id}: in 2 places: delayed, ready\n  {"place":`)
  expect(stdout).toMatch(/\d violations?, 0 warnings\n$/)

  const json = await cli(['audit', '--json'], { url })
  expect(json).toMatchObject({ code: 1, stderr: '' })
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, warnings: 0, truncated: false })
  const { findings } = JSON.parse(json.stdout) as { findings: object[] }
  expect(findings).toContainEqual({
    invariant: 'INV_006',
    severity: 'violation',
    jobId: id,
    problem: 'in 2 places: delayed, ready',
    rows: expect.arrayContaining([expect.objectContaining({ place: 'delayed' })]) as object[],
  })
})

it('reads only, beside a transaction that holds every row', async () => {
  const { url, add, connect } = await setup()
  await add()
  const holder = await connect()
  await holder.query('begin')
  await holder.query('select * from fencepost.job, fencepost.ready for update')

  expect(await cliJson(['audit'], { url })).toMatchObject({ ok: true })
})
