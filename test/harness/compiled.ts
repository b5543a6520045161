import { join } from 'node:path'
import { packageRoot } from '../../src/package-root.js'

/** A program that tests start, as `npm run build` leaves it: to run it as TypeScript takes another second of a core. */
export function compiledProgram(file: `${string}-process`): string {
  return join(packageRoot, 'dist', 'test', `${file}.js`)
}
