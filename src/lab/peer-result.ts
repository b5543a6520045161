import { type PeerName, peerNames } from './peer-catalogue.js'

/** One cell of the comparison: a scenario, played with one peer. */
export interface PeerResult {
  readonly peer: PeerName
  readonly version: string
  /** The server it was played on. */
  readonly server: string
  readonly date: string
  readonly id: string
  readonly name: string
  readonly story: string
  /**
   * `holds`, `broken`, `sometimes broken (1 of 3)`, `not expressible`; or `no verdict`: the play went another way than
   * its scenario expects, which says nothing about the peer.
   */
  readonly verdict: string
  /** What was seen, or why it cannot be expressed. */
  readonly seen: string
  readonly settings: readonly string[]
  /** How many times it was played. */
  readonly plays: number
}

/** By failure mode, then by peer. New results take the place of older ones of the same cell. */
export function mergedResults(old: readonly PeerResult[], fresh: readonly PeerResult[]): PeerResult[] {
  const cells = new Map([...old, ...fresh].map((result) => [`${result.id} ${result.peer}`, result]))
  const place = ({ id, peer }: PeerResult) => `${id} ${peerNames.indexOf(peer)}`
  return [...cells.values()].sort((a, b) => (place(a) < place(b) ? -1 : 1))
}
