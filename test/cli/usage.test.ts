import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { CliProcess, cli } from './cli-process.js'

it('tells its version', async () => {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
  expect(await cli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

it('lists its commands in the help, and the global options in the help of each', async () => {
  const help = await cli(['--help'])
  expect(help.code).toBe(0)
  for (const command of [
    'migrate',
    'enqueue',
    'jobs',
    'queues',
    'gates',
    'workflow',
    'pause',
    'resume',
    'worker',
    'workers',
    'audit',
    'lab',
    'dev',
  ]) {
    expect(help.stdout).toMatch(new RegExp(`^  ${command} `, 'm'))
  }
  const inner = await cli(['jobs', 'list', '--help'])
  expect(inner.stdout).toMatch(/--database <url>[^]*--schema <name>[^]*--json/)
})

it('shows the help on stderr when there is no command', async () => {
  const { code, stdout, stderr } = await cli([])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^Usage: fencepost/)
})

const misspelt: [args: string[], problem: string, hint: string][] = [
  [['jbos'], "unknown command 'jbos'", 'Did you mean jobs?'],
  [['qeues'], "unknown command 'qeues'", 'Did you mean queues?'],
  [['jobs', 'shwo', 'x'], "unknown command 'jobs shwo'", 'Did you mean jobs show?'],
  [
    ['jobs', 'delete'],
    "unknown command 'jobs delete'",
    'There are jobs list, jobs show, jobs retry, jobs cancel, jobs skip.',
  ],
  [['jobs', 'list', '--plaec', 'ready'], "unknown option '--plaec'", 'Did you mean --place?'],
  [['gates', 'shwo', 'gate:a'], "unknown command 'gates shwo'", 'Did you mean gates show?'],
  [['gates', 'gate:a'], "unknown command 'gates gate:a'", 'There are gates list, gates show, gates limit.'],
  [['gates', 'limit', 'gate:a'], 'gates limit takes a number or --reset', 'Add --help'],
  [['gates', 'limit', 'gate:a', '2', '--reset'], 'gates limit takes a number or --reset', 'Add --help'],
  [['workflows', 'runs'], "unknown command 'workflows'", 'Did you mean workflow?'],
  [['workflow', 'shwo', 'x'], "unknown command 'workflow shwo'", 'Did you mean workflow show?'],
  [['workflow', 'rerun', 'x'], "required option '--from <task>' not specified", 'Add --help'],
  [['pause', 'mail'], '"mail" does not say what it is the name of', 'Write queue:mail, task:mail or gate:mail.'],
  [['queues', '--jsno'], "unknown option '--jsno'", 'Did you mean --json?'],
  [['jobs', '--place', 'redy'], 'Allowed choices are delayed, waiting, ready, leased, parked, finished', 'Add --help'],
  [['jobs', '--outcome', 'won'], 'Allowed choices are succeeded, failed, cancelled', 'Add --help'],
  [['enqueue'], "missing required argument 'task'", 'Add --help'],
  [['jobs', 'retry'], "missing required argument 'id'", 'Add --help'],
  [['enqueue', 'a', '{}', 'c'], "too many arguments for 'enqueue'", 'Add --help'],
  [['migrate', '--status', '--dry-run'], 'cannot be used with', 'Add --help'],
]

it.each(misspelt)('refuses %j as a usage error and says what may have been meant', async (args, problem, hint) => {
  const { code, stdout, stderr } = await cli(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  const [line, next, ...more] = stderr.split('\n')
  expect(line).toContain(`fencepost: The command line cannot be understood: `)
  expect(line).toContain(problem)
  expect(line).toMatch(/ \(FP_USAGE\)$/)
  expect(next).toContain(hint)
  expect(more).toEqual([''])
})

it('writes usage errors as JSON if asked', async () => {
  const { code, stdout, stderr } = await cli(['--json', 'jbos'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(JSON.parse(stderr)).toEqual({
    error: {
      code: 'FP_USAGE',
      message: "The command line cannot be understood: unknown command 'jbos'",
      hint: expect.stringContaining('Did you mean jobs?') as string,
    },
  })
})

it('ends quietly when nobody reads what it writes, as before `| head`', async () => {
  const help = new CliProcess(['--help'])
  help.hangUp()
  expect(await help.ended).toEqual({ code: 0, stdout: '', stderr: '' })
})
