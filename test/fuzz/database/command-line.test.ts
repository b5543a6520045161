import fc from 'fast-check'
import { expect, it } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { setup } from '../../harness/setup.js'
import { CliProcess } from '../../cli/cli-process.js'
import { project } from '../../cli/project.js'
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
    '--database',
    '--database=postgres://localhost:1/a',
    '--task',
    '--place',
    '--new-task',
    '--param',
    'a=b',
    'queue:a',
    'gate:a',
    '{"a":1}',
    '@/dev/zero',
    '00000000-0000-4000-8000-000000000000',
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
  ['workflow', 'graph'],
  ['workflow', 'rehearse'],
  ['workflow', 'deploy'],
  ['workflow', 'list'],
  ['workflow', 'runs'],
  ['workflow', 'pause'],
  ['workflow', 'resume'],
  ['workflow', 'rerun'],
  ['workflow', 'signal'],
  ['workflow', 'answer'],
  ['audit'],
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

it('a config file that says what cannot be is refused with a code and what to do', async () => {
  const { url, sql } = await setup()
  const configs = [
    '{ listen: Symbol.iterator }',
    '{ sqs: { account: Object.create(null) } }',
    `{ schema: '"; drop schema fencepost cascade; --' }`,
    `{ database: 'postgres://%zz' }`,
    '5',
  ]
  await Promise.all(
    configs.map(async (config) => {
      const { directory } = await project({ 'fencepost.config.mjs': `export default ${config}\n` })
      const options = { url, input: '', cwd: directory, env: { FENCEPOST_SQS_KEYS: 'a:b' } }
      const { code, stderr } = await new CliProcess(['sqs', '--port', '0'], options).ended
      expect(code, config).toBe(1)
      expect(stderr).toMatch(/FP_[A-Z_]+/)
      expect(stderr).not.toMatch(/bug in Fencepost|\n {4}at /)
    }),
  )
  expect(await sql('select count(*)::int as n from fencepost.job')).toEqual([{ n: 0 }])
})
