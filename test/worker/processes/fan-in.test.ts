import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { fencepost } from '../../../src/index.js'
import { definitionOf } from '../../../src/lab/run-steps.js'
import { Database } from '../../../src/store/database.js'
import type { Workflow } from '../../../src/workflow/builder.js'
import { processTestMsMax, setupProcesses } from './setup.js'

/** `npm run soak` plays a thousand. */
const rounds = Number(process.env['FENCEPOST_ROUNDS'] ?? 20)
vi.setConfig({ testTimeout: processTestMsMax + rounds * 3_000 })
const patience = { timeout: 60_000, interval: 5 }

type Orders = Workflow<{ cue: number }>

/** Five items, three at a time: the last three wait for the cue, and end in the same instant. */
const succeeding = `
name: succeeding
parameters: { cue: integer }
tasks:
  - name: check
    action: gather
    with_items: "{{ [null, null, parameters.cue, parameters.cue, parameters.cue] }}"
    concurrency: 3
    input: { cue: "{{ item }}" }
    next: [{ when: "{{ succeeded() }}", do: validate }]
  - name: validate
    action: echo
    input: {}
`
/** Three items that fail in the same instant. */
const failing = `
name: failing
parameters: { cue: integer }
tasks:
  - name: check
    action: gather
    with_items: [1, 2, 3]
    retry: { count: 0 }
    input: { cue: "{{ parameters.cue }}", fails: true }
    next: [{ when: "{{ failed() }}", do: remedy }]
  - name: remedy
    action: echo
    input: {}
`

/** Three workers with one handler each, so that items that run together run on different ones; and who gives the cue. */
async function setupFanIn() {
  const world = await setupProcesses()
  const { url, sql, spawn } = world
  const fp = await fencepost({ database: url, migrate: false })
  const db = new Database({ url })
  const conductor = new pg.Client({ connectionString: url })
  await conductor.connect()
  onTestFinished(() => Promise.all([fp.close(), db.close(), conductor.end()]).then(() => {}))
  await Promise.all([1, 2, 3].map(() => spawn({ concurrency: 1 })))
  const waiting = async (cue: number) =>
    (await sql(`select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted`, [cue])).length
  return {
    ...world,
    db,
    /** Starts a run, lets its items end together, and answers how often each task was dispatched. */
    async play(cue: number, workflow: Orders): Promise<Record<string, number>> {
      await conductor.query('select pg_advisory_lock($1)', [cue])
      const { id } = await fp.workflows.start(workflow, { cue })
      await vi.waitUntil(async () => (await waiting(cue)) === 3, patience)
      await conductor.query('select pg_advisory_unlock($1)', [cue])
      await fp.result(id, { timeout: '60s' })
      const rows = await sql<{ task: string; jobs: number }>(
        'select run_task as task, count(*) as jobs from fencepost.job where run_id = $1 group by run_task',
        [id],
      )
      return Object.fromEntries(rows.map(({ task, jobs }) => [task, jobs]))
    },
  }
}

it(`items that end in the same instant on three workers: what follows follows once, ${rounds} times of ${rounds}`, async () => {
  const { play, db, sql } = await setupFanIn()

  const [good, bad] = [succeeding, failing].map((text) => ({
    definition: definitionOf(text),
    tasks: [],
    workflows: [],
  }))
  for (let round = 1; round <= rounds; round++) {
    expect(await play(2 * round, good as Orders), `round ${round}`).toEqual({ check: 5, validate: 1 })
    expect(await play(2 * round + 1, bad as Orders), `round ${round}`).toEqual({ check: 3, remedy: 1 })
  }

  expect(await sql('select run_id from fencepost.call union all select run_id from fencepost.inbox')).toEqual([])
  expect((await audit(db)).findings.filter(({ severity }) => severity === 'violation')).toEqual([])
})
