import { expect, it, vi } from 'vitest'
import { FaultProxy } from '../../harness/fault-proxy.js'
import type { TaskName } from './handlers.js'
import { each, processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

async function setupCut() {
  const scene = await setupProcesses()
  const proxy = await FaultProxy.start(scene.url)
  return { ...scene, proxy, worker: await scene.spawn({ url: proxy.url }) }
}

/** Texts by which a request is known, whatever function it calls; `mark` is in the answer to the claim that gets a job. */
const mark = 'the job to claim'
const points: [what: string, task: TaskName, text: string, replyText?: string][] = [
  ['a claim', 'note', 'stubborn', mark], // the name of a task that is not run here
  ['the finish of a job', 'echo', 'is done'], // its result
  ['the finish inside job.commit', 'note', 'is done'],
  ['the COMMIT of job.commit', 'note', 'commit\0'],
  ['the record of a step', 'charge', '"ch_'], // its result
]

it.each(points)('a connection cut at %s: done once, and nobody is charged', async (what, task, text, replyText) => {
  const { proxy, enqueue, ended, worker, verify } = await setupCut()

  const before = proxy.loseRequest(text)
  const first = await enqueue(task, {})
  await before
  await ended()

  const after = replyText ? proxy.loseReplyWith(replyText) : proxy.loseReplyTo(text)
  const second = await enqueue(task, { mark })
  await after
  await ended()

  // What was rolled back with its transaction was given back, or done again under the same lease.
  const undone = [...(task === 'note' ? [first] : []), ...(what === 'the finish inside job.commit' ? [second] : [])]
  if (!undone.includes(second)) expect(worker.said('started', second)).toHaveLength(1)
  await verify({ some: new Map(each(undone, { releases: 'any' })) })
})

it('connections cut at any moment under load: done once, and nobody is charged', async () => {
  const { proxy, worker, enqueue, produce, ended, verify } = await setupCut()
  const producing = produce()
  // One is inside its commit for certain, whatever the others are at.
  const inside = await enqueue('hold', { inCommit: true })
  await worker.hears('in commit', inside)
  for (let cuts = 0; cuts < 8; cuts++) {
    await producing.made(12)
    proxy.cutAll()
    worker.open(inside)
  }
  await producing.stop()
  await ended()
  await verify({ all: { releases: 'any' } })
})
