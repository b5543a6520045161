import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../src/package-root.js'
import { readWorkflowText } from '../src/workflow/workflow-file.js'

// Writes what is said of each broken definition beside it. Read the diff: these are the messages that people see.

const directory = join(packageRoot, 'test', 'workflow', 'broken')
for (const file of readdirSync(directory).filter((name) => name.endsWith('.yaml'))) {
  const result = readWorkflowText(readFileSync(join(directory, file), 'utf8'), file)
  if (!('text' in result)) throw new Error(`nothing is wrong with ${file}`)
  writeFileSync(join(directory, file.replace(/\.yaml$/, '.txt')), `${result.text}\n`)
}
