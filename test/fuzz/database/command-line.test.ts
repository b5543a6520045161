import fc from 'fast-check'
import { expect, it } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { setup } from '../../harness/setup.js'
import { CliProcess } from '../../cli/cli-process.js'
import { hostileTexts, runs, seed } from '../hostile.js'

/** What can be given to a program at all: no U+0000, which ends an argument, and no megabytes. */
const argument = fc.oneof(
  fc.constantFrom(...hostileTexts.filter((text) => !text.includes('\u0000') && text.length < 1_000)),
  fc.constantFrom(
    '--json',
    '--help',
    '--',
    '-',
    '--limit',
    '--limit=1e999',
    '--queue',
    '--schema',
    '--reason',
    '--no-such',
  ),
)
/** Those that end by themselves. */
const commands = [
  ['jobs', 'list'],
  ['jobs', 'show'],
  ['jobs', 'cancel'],
  ['jobs', 'retry'],
  ['jobs', 'skip'],
  ['queues'],
  ['gates', 'list'],
  ['gates', 'show'],
  ['gates', 'limit'],
  ['workers'],
  ['pause'],
  ['resume'],
  ['enqueue'],
  ['workflow', 'validate'],
  ['workflow', 'show'],
  ['workflow', 'run'],
  ['workflow', 'cancel'],
  ['migrate', '--dry-run'],
] as const

it(`any command line is carried out, or refused with a code and what to do (seed ${seed})`, async () => {
  const { url, db } = await setup()
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...commands), fc.array(argument, { maxLength: 4 }), async (command, more) => {
      const { code, stdout, stderr } = await new CliProcess([...command, ...more], { url, input: '' }).ended
      expect([0, 1, 2]).toContain(code)
      expect(stderr).not.toMatch(/bug in Fencepost|\n {4}at /)
      if (code === 1) expect(stderr).toMatch(/FP_[A-Z_]+/)
      // Nothing that was given is let through to the terminal as a command of its own.
      expect(stdout + stderr).not.toContain('\u001B[2J')
    }),
    runs(20),
  )
  expect((await audit(db)).findings).toEqual([])
})
