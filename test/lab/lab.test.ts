import type { EventEmitter } from 'node:events'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FaultProxy } from '../../src/lab/fault-proxy.js'
import { findBundle } from '../../src/lab/lab.js'
import { faultPoints, play, playWithFaults } from '../../src/lab/play.js'
import { goesOn, step, timePasses } from '../../src/lab/scenario.js'
import { Stage } from '../../src/lab/stage.js'
import { setup } from '../harness/setup.js'

/** A database of its own, and the shortest of the bundles. */
async function aLab() {
  const { url, sql } = await setup()
  const scratchSchemas = async () => {
    const rows = await sql<{ name: string }>(
      `select nspname as name from pg_namespace where nspname like 'fencepost\\_lab\\_%' order by nspname`,
    )
    return rows.map(({ name }) => name)
  }
  return { url, sql, scratchSchemas, bundle: await findBundle('FM_026') }
}

describe('the stage', () => {
  it('is gone after a play', async () => {
    const { url, bundle, scratchSchemas } = await aLab()

    const played = await play(bundle, url, 'guarded')

    expect(played.violations).toEqual([])
    expect(await scratchSchemas()).toEqual([])
  })

  it('is gone after a play that throws', async () => {
    const { url, bundle, scratchSchemas } = await aLab()
    const scenario = { ...bundle.scenario, check: () => Promise.reject(new Error('the check is broken')) }

    await expect(play({ ...bundle, scenario }, url, 'guarded')).rejects.toThrow('the check is broken')

    expect(await scratchSchemas()).toEqual([])
  })

  it('is gone when the naïve functions cannot be created', async () => {
    const { url, bundle, scratchSchemas } = await aLab()

    await expect(play({ ...bundle, naive: 'create nonsense' }, url, 'naive')).rejects.toThrow('nonsense')
    const beside = 'create function fencepost.lose(p_other text) returns void language sql as $$ select $$'
    await expect(play({ ...bundle, naive: beside }, url, 'naive')).rejects.toThrow('naïve lose()')
    const nowhere = "select fencepost.lab_replace('fencepost.lose', 'no such text', '')"
    await expect(play({ ...bundle, naive: nowhere }, url, 'naive')).rejects.toThrow('nothing like: no such text')

    expect(await scratchSchemas()).toEqual([])
  })

  it('strikes the one of a lab that was killed, and leaves one that is in use', async () => {
    const { url, sql, scratchSchemas } = await aLab()
    const killed = await Stage.build(url, undefined)
    await sql(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
               where datname = current_database() and application_name = 'fencepost lab'`)
    await killed.db.close()
    expect(await scratchSchemas()).toEqual([killed.schema])
    expect(await sql(`select nspname from pg_namespace where nspname like 'outside%'`)).toHaveLength(1)

    const inUse = await Stage.build(url, undefined)
    const next = await Stage.build(url, undefined)

    expect(await scratchSchemas()).toEqual([inUse.schema, next.schema].sort())
    await next.strike()
    expect(await scratchSchemas()).toEqual([inUse.schema])
    await inUse.strike()
    expect(await scratchSchemas()).toEqual([])
    expect(await sql(`select nspname from pg_namespace where nspname like 'outside%'`)).toEqual([])
  })
})

describe('the proxy', () => {
  /** A table of numbers, and a client that puts them there through a proxy. */
  async function aProxy() {
    const { url, sql } = await setup()
    await sql('create table entry (n int)')
    const through = new URL(url)
    const proxy = await FaultProxy.start({ host: through.hostname, port: Number(through.port) })
    onTestFinished(() => proxy.stop())
    through.host = `127.0.0.1:${proxy.port}`
    const connect = async () => {
      const client = new pg.Client({ connectionString: through.href })
      client.on('error', () => {})
      await client.connect()
      onTestFinished(() => client.end().catch(() => {}))
      return client
    }
    const stored = async () => (await sql<{ n: number }>('select n from entry order by n')).map(({ n }) => n)
    return { proxy, connect, client: await connect(), stored }
  }
  const put = 'insert into entry values ($1)'

  it('cuts the connection when the nth transaction has committed, and only then', async () => {
    const { proxy, connect, client, stored } = await aProxy()
    const reached = proxy.loseReplyOfCommit(3, 'cut')

    await client.query(put, [1])
    await client.query('begin')
    await client.query(put, [2])
    await client.query('commit')
    await expect(client.query(put, [3])).rejects.toThrow()

    await reached
    expect(await stored()).toEqual([1, 2, 3])
    expect(proxy.commits).toBe(3)
    const another = await connect()
    await another.query(put, [4])
    expect(await stored()).toEqual([1, 2, 3, 4])
  })

  it('holds back every word of the reply when the nth transaction has committed, and nothing before it', async () => {
    const { proxy, client, stored } = await aProxy()
    const { connection } = client as unknown as { connection: EventEmitter }
    let completed = 0
    connection.on('commandComplete', () => completed++)
    const ended = new Promise((resolve) => client.once('end', () => resolve(undefined)))
    const reached = proxy.loseReplyOfCommit(2, 'hold')

    await client.query(put, [1])
    client.query(put, [2]).catch(() => {}) // has no answer until the connection ends

    await reached
    expect(await stored()).toEqual([1, 2])
    await proxy.stop()
    await ended // what was sent has come by now
    expect(completed).toBe(1)
  })
})

describe('fault points', () => {
  it('are before each step and at each commit of it, but not where the scenario itself strikes', async () => {
    const { bundle } = await aLab()
    const run = async () => ''
    const steps = [
      step('A', 'has two commits', run),
      timePasses('no process', 1_000),
      step('B', 'has none', run),
      step('C', 'is held, where there is a pause point', run, { pause: 'held' }),
      goesOn('C', 'does nothing anew'),
      step('D', 'loses its first reply and repeats', run, { fault: 'reply_cut' }),
      step('E', 'is killed at its first commit', run, { fault: 'killed' }),
    ]
    const commits = [2, 0, 0, 1, 0, 2, 1]
    const played = steps.map(({ by, does }, index) => ({ by, does, note: '', commits: commits[index] as number }))

    const points = faultPoints(
      { ...bundle, scenario: { ...bundle.scenario, steps } },
      { steps: played, violations: [] },
    )

    expect(points.map(({ step: index, commit }) => `${steps[index]?.by}${commit}`).join(' ')).toBe(
      'A0 A1 A2 B0 C0 C1 D0 D1 E0',
    )
  })

  it('are there when they are played: one that is never reached is an error', async () => {
    const { url, bundle, scratchSchemas } = await aLab()

    await expect(playWithFaults(bundle, url, () => [{ step: 0, commit: 9 }])).rejects.toThrow('has no commit 9')

    expect(await scratchSchemas()).toEqual([])
  })
})
