/**
 * `npm run model`: checks the models of docs/internals/model with spin (a Debian package): every claim of each, under weak fairness,
 * assertions and deadlocks; and that each variant, which takes one guard away, breaks something.
 *
 *     npm run model [-- gate]
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../src/package-root.js'

interface Model {
  readonly name: string
  readonly file: string
  readonly claims: readonly string[]
  readonly variants: readonly string[]
}

const directory = join(packageRoot, 'docs', 'internals', 'model')

function modelOf(file: string): Model {
  const text = readFileSync(join(directory, file), 'utf8')
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name as string)
  return {
    name: file.replace(/\.pml$/, ''),
    file: join(directory, file),
    claims: all(/^ltl (\w+)/gm),
    variants: all(/^ \* variant (\w+):/gm),
  }
}

/** What breaks: names of claims, or `assertions` for asserts and for states in which nothing can go on. */
function broken({ file, claims }: Model, variant?: string): string[] {
  const place = mkdtempSync(join(tmpdir(), 'fencepost-model-'))
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: place, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    run('spin', ...(variant === undefined ? [] : [`-D${variant}`]), '-a', file)
    run('gcc', '-O2', '-w', '-DNFAIR=3', '-o', 'pan', 'pan.c')
    const fails = (...args: string[]) => {
      const answer = run('./pan', '-m100000', ...args)
      const [, errors] = /errors: (\d+)/.exec(answer) ?? []
      if (errors === undefined || /max search depth too small|out of memory/i.test(answer)) throw new Error(answer)
      return errors !== '0'
    }
    const failed = claims.filter((claim) => fails('-a', '-f', '-N', claim))
    return fails('-noclaim') ? [...failed, 'assertions'] : failed
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

const only = process.argv.slice(2)
let wrong = 0
const tell = (holds: boolean, text: string) => {
  if (!holds) wrong++
  console.log(`${holds ? 'ok  ' : 'FAIL'}  ${text}`)
}
for (const file of readdirSync(directory)
  .filter((name) => name.endsWith('.pml'))
  .sort()) {
  const model = modelOf(file)
  if (only.length > 0 && !only.includes(model.name)) continue
  const faults = broken(model)
  tell(
    faults.length === 0,
    `${model.name}: ${faults.length === 0 ? `${model.claims.join(', ')} hold` : `broken: ${faults.join(', ')}`}`,
  )
  for (const variant of model.variants) {
    const found = broken(model, variant)
    tell(
      found.length > 0,
      `${model.name} with ${variant}: ${found.length > 0 ? `breaks ${found.join(', ')}` : 'nothing breaks'}`,
    )
  }
}
process.exitCode = wrong === 0 ? 0 : 1
