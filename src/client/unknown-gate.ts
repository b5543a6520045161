import { FencepostError, shown } from '../errors.js'
import type { Database } from '../store/database.js'
import { listGates } from '../store/gates.js'
import { nearestName } from '../task/nearest-name.js'

/** The key in use that was probably meant. */
export async function nearestGate(db: Database, key: string): Promise<string | undefined> {
  const keys = (await listGates(db)).map((gate) => gate.key)
  return nearestName(key, keys) ?? keys.find((each) => afterKind(each) === afterKind(key))
}

export async function unknownGate(db: Database, key: string): Promise<FencepostError> {
  const nearest = await nearestGate(db, key)
  const meant = { hint: `Did you mean ${nearest}? Run \`fencepost gates\` for the ones that are in use.` }
  return new FencepostError('FP_GATE_UNKNOWN', shown(key), nearest === undefined ? {} : meant)
}

function afterKind(key: string): string {
  return key.slice(key.indexOf(':') + 1)
}
