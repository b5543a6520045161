/**
 * Plays every failure mode many times in a row, without and with its guard, and then a thousand fan-ins on three workers.
 * Ends with 1 at the first play that is not as all others: that is a fault of the product or of the scenario, never luck.
 *
 *     npm run soak                                   100 rounds of each bundle, then the fan-ins
 *     npm run soak -- --rounds 20 FM_014 FM_021      some of them, without the fan-ins
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { bundleDirectories, loadBundle } from '../src/lab/catalogue.js'
import { findBundle } from '../src/lab/lab.js'
import { type Played, playRepeatedly } from '../src/lab/play.js'
import { startTestServer, systemPrograms } from '../test/harness/test-server.js'

const fanIns = 1_000

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '100' } },
  allowPositionals: true,
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds must be a whole number, not ${values.rounds}`)

/** Answers whether all plays were as they should be; the first that was not is told with its round. */
async function soak(
  bundle: Awaited<ReturnType<typeof loadBundle>>,
  url: string,
  mode: 'naive' | 'guarded',
): Promise<boolean> {
  const isRight = ({ violations }: Played) => violations.length > 0 === (mode === 'naive')
  let round = 0
  try {
    const plays = await playRepeatedly(bundle, url, mode, {
      rounds,
      expected: (played) => {
        round++
        return isRight(played)
      },
    })
    const last = plays.at(-1) as Played
    if (isRight(last)) return true
    console.error(
      `${bundle.scenario.id}: ${mode}, round ${round}: ${last.violations.join('; ') || 'nothing is violated'}`,
    )
    for (const { by, does, note } of last.steps) console.error(`    ${by}: ${does}: ${note}`)
  } catch (error) {
    console.error(`${bundle.scenario.id}: ${mode}, round ${round + 1}:`, error)
  }
  return false
}

async function soakAll(url: string): Promise<boolean> {
  const bundles = await Promise.all(
    positionals.length > 0 ? positionals.map(findBundle) : bundleDirectories().map(loadBundle),
  )
  for (const bundle of bundles) {
    const begunAtMs = performance.now()
    for (const mode of ['naive', 'guarded'] as const) if (!(await soak(bundle, url, mode))) return false
    const seconds = ((performance.now() - begunAtMs) / 1_000).toFixed(1)
    console.log(`${bundle.scenario.id}  ${rounds} × violated, ${rounds} × held  ${seconds} s`)
  }
  console.log(`${bundles.length} bundles, ${2 * rounds * bundles.length} plays: all as they should be`)
  return true
}

async function soakFanIns(): Promise<boolean> {
  const child = spawn('npx', ['vitest', 'run', 'test/worker/processes/fan-in.test.ts'], {
    stdio: 'inherit',
    env: { ...process.env, FENCEPOST_ROUNDS: String(fanIns) },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0
}

const server = await startTestServer(systemPrograms() ? 'system' : 'embedded')
let isSound = false
try {
  isSound = await soakAll(server.url)
} finally {
  await server.stop()
}
if (isSound && positionals.length === 0) isSound = await soakFanIns()
process.exitCode = isSound ? 0 : 1
