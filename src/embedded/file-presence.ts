import { lstat } from 'node:fs/promises'
import { hasCode } from './failure-code.js'

/** Not being allowed to look is an error, not an absence: we would make anew what is there already. */
export async function isPresent(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}
