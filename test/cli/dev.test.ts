import { expect, it } from 'vitest'
import { setup } from '../harness/setup.js'
import { CliProcess, type CliResult } from './cli-process.js'

/** A demo job’s line: time, id, task, and what is asked for. */
const line = (task: string, move: string) => new RegExp(`^\\S+  \\S{36}  ${task} +${move}`, 'm')

it('shows every move of the demo’s jobs, one line each, and stops in good order on SIGINT', async () => {
  const { url, sql } = await setup()
  const dev = new CliProcess(['dev'], { url })

  await dev.sees(
    line('send-mail', '→ ready +enqueued'),
    line('send-mail', 'ready → leased +attempt 1'),
    line('send-mail', 'leased → finished succeeded'),
    line('charge-card', 'leased → delayed +attempt 1 failed: the bank did not answer'),
    line('charge-card', 'delayed → ready +due'),
    line('charge-card', 'ready → leased +attempt 2'),
    line('charge-card', 'leased → finished succeeded'),
    line('nightly-report', '→ delayed +enqueued'),
    line('nightly-report', 'leased → finished succeeded'),
    line('export-archive', 'leased +cancel requested'),
    line('export-archive', 'leased → finished cancelled'),
    line('call-webhook', 'leased → finished failed +attempt 3 failed'),
  )
  dev.signal('SIGINT')
  const { code, stdout, stderr } = await dev.ended

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/\nStopped: \d+ enqueued, \d+ succeeded, \d+ failed, \d+ cancelled\. .*\n$/)
  expect(await sql('select * from fencepost.leased')).toEqual([])
})

it('writes one object per line with --json, and stops when nobody reads it any more', async () => {
  const { url, sql } = await setup()
  const dev = new CliProcess(['dev', '--json'], { url })

  await dev.sees(/"to":"finished"/)
  const moves = dev.stdout
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text) as Record<string, unknown>)
  dev.hangUp()

  // Which of the demo's jobs is seen first is chance, and so is whether the worker hears of its claim before the enqueue
  // has heard of its commit.
  expect(moves[0]).toEqual({
    at: expect.stringMatching(/Z$/) as string,
    jobId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    task: expect.any(String) as string,
    from: null,
    to: expect.stringMatching(/^(ready|leased)$/) as string,
    outcome: null,
    note: expect.stringMatching(/^(enqueued|attempt 1)$/) as string,
  })
  expect(moves.find(({ to }) => to === 'finished')).toMatchObject({ from: 'leased', outcome: 'succeeded' })
  expect((await dev.ended).code).toBe(0)
  expect(await sql('select * from fencepost.leased')).toEqual([])
})

const enterScreen = '\u001b[?1049h'
const leaveScreen = '\u001b[?1049l'
const ctrlC = '\u0003'

/** `script` gives it a terminal. */
const inTerminal = (node: string, args: readonly string[]): [string, ...string[]] => {
  const command = ['stty rows 30 cols 120; exec', node, ...args].map((word, i) => (i === 0 ? word : `'${word}'`))
  return ['script', '-qefc', command.join(' '), '/dev/null']
}

const onLinux = process.platform === 'linux'

it.skipIf(!onLinux)(`draws a live screen on a terminal${onLinux ? '' : ': needs Linux’s script'}`, async () => {
  const { url } = await setup()
  const dev = new CliProcess(['dev'], { url, through: inTerminal, env: { SHELL: '/bin/sh' } })

  await dev.sees(/send-mail[^\n]*✔/)
  dev.type(ctrlC)
  const { code, stdout } = await dev.ended

  expect(code).toBe(0)
  const { screen, afterwards } = parts(stdout)
  expect(screen).toContain('fencepost dev')
  expect(screen).toContain('\u001b[36m') // colours
  expect(afterwards).toMatch(/Stopped: \d+ enqueued/)
})

it.skipIf(!onLinux)(
  `ends at once on the second Ctrl-C, in black and white if asked${onLinux ? '' : ': needs Linux’s script'}`,
  async () => {
    const { url } = await setup()
    const dev = new CliProcess(['dev'], { url, through: inTerminal, env: { SHELL: '/bin/sh', NO_COLOR: '1' } })

    // The export runs for 20 s: the worker waits for it until its grace is over.
    await dev.sees(/export-archive +· +· +●/)
    dev.type(ctrlC)
    await dev.sees(/Stopping/)
    const again = setInterval(() => dev.type(ctrlC), 100) // two within 300 ms count as one
    const result = await dev.ended.finally(() => clearInterval(again))

    expect(result.code).toBe(130)
    expect(parts(result.stdout).afterwards).not.toContain('Stopped')
    expect(result.stdout).not.toContain('\u001b[36m')
  },
)

function parts(stdout: CliResult['stdout']): { screen: string; afterwards: string } {
  const [before = '', screen = ''] = stdout.split(enterScreen)
  const [shown = '', afterwards = ''] = screen.split(leaveScreen)
  expect(before).toMatch(/^Starting PostgreSQL/)
  return { screen: shown, afterwards }
}
