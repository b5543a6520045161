/** The Redis of BullMQ. npm has none: it comes from the system's packages, if this process may install them. */
import { execFileSync } from 'node:child_process'
import { type PeerRedis, startRedis } from '../src/lab/peer-redis.js'

/** As it is mostly run: it answers before anything is on disk. */
const start = () => startRedis({ durable: false })

/** Undefined if there is none to be had: told at once, and not by the table of a run that took an hour. */
export async function startBenchRedis(say: (text: string) => void): Promise<PeerRedis | undefined> {
  try {
    return await start().catch((error: Error & { cause?: NodeJS.ErrnoException }) => {
      if (error.cause?.code !== 'ENOENT') throw error
      install(say)
      return start()
    })
  } catch (error) {
    const [why] = (error as Error).message.split('\n')
    say(`redis-server does not start, so BullMQ on Redis is not measured (${why}).`)
    say(
      'To have it in the table, stop this, install Redis (`apt-get install redis-server`, `brew install redis`), and begin again.',
    )
    return undefined
  }
}

function install(say: (text: string) => void): void {
  if (process.getuid?.() !== 0) throw new Error('it is missing, and only root may install it')
  say('Installing redis-server …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' } // which starts no service
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', 'redis-server']]) {
    execFileSync('apt-get', args, { env, stdio: 'ignore' })
  }
}
