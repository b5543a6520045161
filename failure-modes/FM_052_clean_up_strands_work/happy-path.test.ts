import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_052: undisturbed, a thousand keys that were used once leave no gate behind', async () => {
  const { db, sql, add, takeAll, sound } = await setupGates()
  await sql(
    `select fencepost.enqueue('test', gates => jsonb_build_array(jsonb_build_object('key', 'gate:' || n)))
     from generate_series(1, 1000) as n`,
  )
  await add()
  await sql('select fencepost.admit(null, true, true, 2000)')
  expect(await sql('select count(*)::integer as n, sum(held)::integer as held from fencepost.gate')).toEqual([
    { n: 1000, held: 1000 },
  ])

  for (let leases = await takeAll(); leases.length > 0; leases = await takeAll()) {
    await finish(
      db,
      leases.map((lease) => ({ ...lease, resultText: '{}' })),
    )
  }

  expect(await sql('select key from fencepost.gate')).toEqual([])
  expect(await sql('select key from fencepost.nudge')).toEqual([])
  expect(await sql(`select count(*)::integer as n from fencepost.finished`)).toEqual([{ n: 1001 }])
  await sound()
})
