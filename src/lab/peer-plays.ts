import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { FencepostError } from '../errors.js'
import { type PeerName, peerScripts } from './peer-catalogue.js'
import { startRedis } from './peer-redis.js'
import type { PeerResult } from './peer-result.js'

export interface PeerPlays {
  /** A PostgreSQL: also with BullMQ, whose queue is in Redis, the application's own table is there. */
  readonly url: string
  readonly ids?: readonly string[] | undefined
  readonly repeat: number
  readonly onResult?: (result: PeerResult) => void
}

/** Plays the scenarios of bench/peers/plays with one peer, in processes of its own. */
export async function playPeer(peer: PeerName, { url, ids, repeat, onResult }: PeerPlays): Promise<PeerResult[]> {
  const { script, node } = peerScripts(peer)
  const redis = peer === 'bullmq' ? await startRedis() : undefined
  try {
    const request = { peer, url, ids, repeat, redisPort: redis?.port }
    const child = spawn(node, [script, JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = `${errors}${text}`.slice(-2_000)
    })
    const results: PeerResult[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      const result = JSON.parse(line) as PeerResult
      results.push(result)
      onResult?.(result)
    }
    if ((await ended) !== 0 && results.every(({ verdict }) => verdict !== 'no verdict')) {
      throw new FencepostError('FP_PEER_FAILED', `${peer}: ${errors.trim()}`)
    }
    return results
  } finally {
    await redis?.stop()
  }
}
