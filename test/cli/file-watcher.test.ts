import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { FileWatcher } from '../../src/cli/file-watcher.js'

/** A directory with one module, and a watcher. */
async function watched() {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-watched-'))
  const watcher = new FileWatcher()
  onTestFinished(async () => {
    watcher.close()
    await rm(directory, { recursive: true, force: true })
  })
  const file = join(directory, 'lib', 'version.ts')
  const write = async (text: string) => {
    await mkdir(join(directory, 'lib'), { recursive: true })
    await writeFile(file, text)
  }
  await write('1')
  return { directory, file, watcher, write, next: () => watcher.nextChange(new AbortController().signal) }
}

/** After everything that was written before. */
const later = () => Date.now() + 1_000
/** Before anything was written. */
const before = 0

it('tells of a file that was saved before it was watched, but after the worker began to load', async () => {
  const { file, watcher, next } = await watched()
  watcher.addFiles([file], before)
  expect(await next()).toEqual([file])
})

it('tells of an older file that was moved into the place before it was watched', async () => {
  const { directory, file, watcher, next } = await watched()
  const startedAtMs = Date.now() - 60_000
  const old = join(directory, 'old.ts')
  await writeFile(old, '0')
  await utimes(old, new Date(0), new Date(0))
  await rename(old, file)

  watcher.addFiles([file], startedAtMs)

  expect(await next()).toEqual([file])
})

it('tells of a file that came into a directory of tasks before it was watched', async () => {
  const { directory, file, watcher, next } = await watched()
  watcher.addTree(directory, before)
  expect(await next()).toEqual([file])
})

it('tells of a save in a directory that was removed and made again', async () => {
  const { directory, file, watcher, write, next } = await watched()
  watcher.addFiles([file], later())
  await rm(join(directory, 'lib'), { recursive: true })
  expect(await next()).toEqual([file])

  await write('2')

  expect(await next()).toEqual([file])
})

it('tells of every save of an editor that puts a new file in the place', async () => {
  const { directory, file, watcher, next } = await watched()
  watcher.addTree(join(directory, 'lib'), later())
  for (const text of ['2', '3', '4']) {
    await writeFile(join(directory, 'saved'), text)
    await rename(join(directory, 'saved'), file)
    expect(await next()).toEqual([file])
  }
})

it('tells of a save in a directory of tasks that was removed and made again', async () => {
  const { directory, file, watcher, write, next } = await watched()
  watcher.addTree(join(directory, 'lib'), later())
  await rm(join(directory, 'lib'), { recursive: true })
  expect(await next()).toEqual([file])

  await write('2')

  expect(await next()).toEqual([file])
})
