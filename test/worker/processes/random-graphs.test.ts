import { expect, it, onTestFinished, vi } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { fencepost } from '../../../src/index.js'
import { Database } from '../../../src/store/database.js'
import { compileWorkflow } from '../../../src/workflow/compile.js'
import { interpret } from '../graphs/interpreter.js'
import { child, childComesTo, type RandomWorkflow, randomFrom, randomWorkflow } from '../graphs/random-workflow.js'
import { processTestMsMax, setupProcesses } from './setup.js'
import type { WorkerProcess } from './worker.js'

vi.setConfig({ testTimeout: processTestMsMax * 4 })

const seed = Number(process.env['FENCEPOST_SEED'] ?? 1)
const graphs = Number(process.env['FENCEPOST_GRAPHS'] ?? 60)

it(`random workflows come to what their definitions say, whoever is killed meanwhile (seed ${seed})`, async () => {
  const { url, sql, spawn, quiet } = await setupProcesses()
  const fp = await fencepost({ database: url, migrate: false })
  const db = new Database({ url })
  onTestFinished(() => Promise.all([fp.close(), db.close()]).then(() => {}))
  const random = randomFrom(seed)
  const workers: WorkerProcess[] = await Promise.all([spawn(), spawn(), spawn()])

  await fp.workflows.deploy(compiled(child))
  const runs = new Map<string, RandomWorkflow>()
  for (let n = 0; n < graphs; n++) {
    const workflow = randomWorkflow(seed * 10_000 + n, 'child')
    const { id } = await fp.workflows.start(compiled(workflow), {})
    runs.set(id, workflow)
  }
  const ended = async () =>
    (await sql('select 1 from fencepost.run where parent_id is null and ended_at is not null')).length === graphs
  let kills = 0
  while (!(await ended())) {
    const victim = Math.floor(random() * workers.length)
    const after = await advances(sql)
    await vi.waitUntil(async () => (await advances(sql)) >= after + 20 || (await ended()), {
      timeout: 60_000,
      interval: 10,
    })
    if (await ended()) break
    await workers[victim]?.kill()
    await quiet()
    kills++
    const heir = spawn()
    // What the dead one held runs out now instead of in half a minute.
    await sql(`update fencepost.leased set expires_at = fencepost.clock() where worker like '%/' || $1 || '/%'`, [
      workers[victim]?.pid,
    ])
    await sql('update fencepost.run set busy_until = null where busy_until is not null')
    workers[victim] = await heir
  }

  expect(kills).toBeGreaterThan(0)
  for (const [id, workflow] of runs) {
    const { state, output, taskRuns, error } = await fp.workflows.run(id)
    const expected = interpret(workflow, { 'workflow.child': childComesTo }, (length) => Math.floor(random() * length))
    const seen: Record<string, string[]> = {}
    for (const task of taskRuns) (seen[task.task] ??= [])[task.ordinal - 1] = task.state
    expect({ workflow: workflow.name, state, error: state === expected.state ? null : error }).toEqual({
      workflow: workflow.name,
      state: expected.state,
      error: null,
    })
    if (state === 'succeeded')
      expect({ ...workflow, seen, output }).toEqual({
        ...workflow,
        seen: expected.activations,
        output: expected.output,
      })
    // A run that fails stops: nothing that it did may be more than what it would have done.
    else
      for (const [task, times] of Object.entries(seen))
        expect(times.length).toBeLessThanOrEqual(expected.activations[task]?.length ?? 0)
  }
  const { findings } = await audit(db)
  expect(findings.filter(({ severity }) => severity === 'violation')).toEqual([])
})

it('the interpreter does not depend on the order', () => {
  for (let n = 0; n < 200; n++) {
    const workflow = randomWorkflow(n, 'child')
    const inOrder = (random: () => number) =>
      interpret(workflow, { 'workflow.child': childComesTo }, (length) => Math.floor(random() * length))
    const first = inOrder(() => 0)
    for (let other = 1; other < 5; other++) expect(inOrder(randomFrom(other))).toEqual(first)
  }
})

async function advances(sql: (text: string) => Promise<Record<string, unknown>[]>): Promise<number> {
  const rows = await sql('select sum(revision) as n from fencepost.run')
  return Number(rows[0]?.['n'])
}

function compiled(data: unknown) {
  const result = compileWorkflow(data)
  if ('problems' in result)
    throw new Error(`${JSON.stringify(data)}\n${result.problems.map(({ message }) => message).join('\n')}`)
  return { definition: result.definition, tasks: [], workflows: [] }
}
