import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { setup } from '../harness/setup.js'
import { CliProcess, cli, cliJson } from './cli-process.js'

const guide = readFileSync(join(packageRoot, 'docs', 'guides', 'workflows.md'), 'utf8')

/** The commands of the guide, each with what it writes, if the guide shows that. */
const blocks = [...guide.matchAll(/^```console\n(.*?)^```$/gms)].map(([, text]) => text as string)
const commands = blocks
  .flatMap((block) => block.split(/^\$ /m).filter((text) => text !== ''))
  .filter((text) => text.startsWith('npx fencepost'))
  .map((text) => {
    const [line = '', ...output] = text.split('\n')
    const words = [...line.replace('npx fencepost ', '').matchAll(/'([^']*)'|(\S+)/g)]
    return { line, args: words.map(([, quoted, plain]) => quoted ?? plain ?? ''), output: output.join('\n') }
  })

/** The commands of this kind, with the id of a run where the guide leaves a gap. */
const command = (start: string, run = '') => {
  const found = commands.find(({ line }) => line.startsWith(`npx fencepost ${start}`))
  if (!found) throw new Error(`the guide has no command that begins with ${start}`)
  return { ...found, args: found.args.map((word) => (word === '<run>' ? run : word)) }
}

it.each(['workflow graph', 'workflow rehearse'])('`%s` writes what the guide shows', async (start) => {
  const { args, output } = command(start)
  const { stdout, stderr, code } = await cli(args)
  expect({ stdout, stderr, code }).toEqual({ stdout: output, stderr: '', code: 0 })
})

it('the release of the guide runs with the worker of the guide', async () => {
  const { url } = await setup()
  await new CliProcess(command('worker examples/workflows/release').args, { url }).sees(/"ready: 4 tasks/)
  const { args, output } = command('workflow run examples/workflows/release')
  const { stdout, code } = await cli(args, { url })
  expect({ stdout, code }).toEqual({ stdout: output, code: 0 })
})

it('the order of the guide waits for its signal and its answer', async () => {
  const { url } = await setup()
  await new CliProcess(command('worker examples/workflows/order').args, { url }).sees(/"ready: 5 tasks/)
  expect(await cli(command('workflow deploy').args, { url })).toMatchObject({ code: 0 })
  const { id } = await cliJson<{ id: string }>(command('workflow run order').args, { url })
  for (const each of ['signal', 'show', 'answer']) {
    expect(await cli(command(`workflow ${each}`, id).args, { url })).toMatchObject({ code: 0 })
  }
  expect(await cli(command('workflow watch', id).args, { url })).toMatchObject({ code: 0 })
  const { output } = await cliJson<{ output: string }>(['workflow', 'show', id], { url })
  expect(output).toBe('shipped as o-7-1200g')
})

it('the table of the guide has every command, and no option that there is not', async () => {
  const table = /^\| `fencepost workflow …` \| \|\n.*?\n\n/ms.exec(guide)?.[0] ?? ''
  const usages = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z]+)( [^`]*)?`/g)].flatMap(([, name = '', options = '']) =>
      name === 'fencepost' ? [] : [{ name, options: options.match(/--[a-z-]+/g) ?? [] }],
    ),
  )
  const { stdout } = await cli(['workflow', '--help'])
  const known = [...stdout.matchAll(/^ {2}([a-z]+)(?: |$)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help')
  expect(usages.map(({ name }) => name).toSorted()).toEqual(known.toSorted())
  for (const { name, options } of usages.filter((usage) => usage.options.length > 0)) {
    const help = await cli(['workflow', name, '--help'])
    expect(options.filter((option) => !help.stdout.includes(option))).toEqual([])
  }
})
