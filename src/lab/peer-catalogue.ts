import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { FencepostError } from '../errors.js'
import { packageRoot } from '../package-root.js'
import { nearestName } from '../task/nearest-name.js'

/** Who can be played with, in the order of the columns: the same scripts with Fencepost, and with its peers. */
export const peerNames = ['fencepost', 'pg-boss', 'graphile-worker', 'bullmq'] as const

export type PeerName = (typeof peerNames)[number]

/** `all`, or one of them. */
export function peersNamed(name: string): readonly PeerName[] {
  if (name === 'all') return peerNames
  const found = peerNames.find((each) => each === name)
  if (found) return [found]
  const nearest = nearestName(name, [...peerNames, 'all'])
  throw new FencepostError('FP_PEER_UNKNOWN', name, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}There are ${peerNames.join(', ')}, and all.`,
  })
}

/** Where the scripts are, and the Node to run them with: recent peers need a newer one than we do. */
export interface PeerScripts {
  readonly script: string
  readonly node: string
}

/** The peers are a package of their own, which a clone has and the published package has not. */
export function peerScripts(peer: PeerName, root: string = packageRoot): PeerScripts {
  const home = join(root, 'bench', 'peers')
  const script = join(home, 'plays', 'run.js')
  if (!existsSync(script)) throw new FencepostError('FP_PEER_MISSING', 'this package was installed without them')
  if (peer === 'fencepost') return { script, node: process.execPath }
  const node = join(home, 'node_modules', 'node', 'bin', 'node')
  if (!existsSync(join(home, 'node_modules', peer)) || !existsSync(node)) {
    throw new FencepostError('FP_PEER_MISSING', peer)
  }
  return { script, node }
}
