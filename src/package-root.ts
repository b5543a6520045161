import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The directory of this package: `sql/` and `failure-modes/` are read from it at run time, and the code that reads
 * them runs from `src/` in tests and from `dist/src/` when installed.
 */
export const packageRoot: string = (() => {
  let directory = import.meta.dirname
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory)
  return directory
})()

export const packageVersion: string = (
  JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
).version
