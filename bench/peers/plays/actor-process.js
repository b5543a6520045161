// A producer, a worker or an onlooker: speaks to the queue through its adapter, at the word of the parent. What its
// handlers do is told by the parent, too, as a list of steps.
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

const scene = JSON.parse(process.argv[2])
const realNow = Date.now
if (scene.clockAheadMs !== 0) setClockAhead(scene.clockAheadMs)

const { open } = await import(`./adapters/${scene.peer}.js`)
const app = new pg.Pool({ connectionString: scene.appUrl, max: 2 })
app.on('error', () => {})
const setting = (text) => process.send?.({ setting: text })
let peer
let failedOnce = false

process.on('message', ({ id, verb, values }) => {
  void perform(verb, values).then(
    (answer) => process.send?.({ id, answer }),
    (error) => process.send?.({ id, error: String(error?.message ?? error) }),
  )
})
process.on('disconnect', () => process.exit())
// An error that a library throws into the process is told, and does not end it: the play is about the queue.
process.on('uncaughtException', (error) => tell('uncaught', { error: error?.message }))
process.on('unhandledRejection', (error) => tell('uncaught', { error: String(error?.message ?? error) }))

async function perform(verb, values) {
  if (verb === 'open') {
    peer = await open({ ...scene, setting })
    return undefined
  }
  if (verb === 'work') return work(...values)
  return peer[verb](...values)
}

/** `programs`: for each task, the steps of its handler. */
async function work(programs, options = {}) {
  // As the documentation of each peer has it: on SIGTERM stop in good order, then end.
  if (!peer.handlesSignals) {
    process.once('SIGTERM', () => {
      void peer.stop(options).finally(() => process.exit())
    })
  }
  await peer.work(programs, (job) => handle(job, programs[job.task]), options)
}

async function handle(job, program) {
  tell('began', { job: job.id, task: job.task, data: job.data, attempt: job.attempt })
  try {
    for (const step of program) await take(step, job)
  } catch (error) {
    tell('threw', { job: job.id, task: job.task, error: String(error?.message ?? error) })
    throw error
  }
  tell('ended', { job: job.id, task: job.task, data: job.data })
}

async function take(step, job) {
  const [what, name] = step.split(':')
  const isOpen = () => existsSync(join(scene.directory, `open-${name}`))
  if (what === 'blocked') {
    // Nothing else happens in this process meanwhile: no timer, no heartbeat.
    while (!isOpen()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  } else if (what === 'gate') {
    while (!isOpen()) {
      if (job.signal?.aborted) throw new Error('told to stop')
      await pause(20)
    }
  } else if (what === 'takes') await pause(Number(name))
  else if (what === 'worked') tell('worked', {})
  else if (what === 'fail') throw new Error('told to fail')
  else if (what === 'failOnce') {
    if (!failedOnce) {
      failedOnce = true
      throw new Error('told to fail once')
    }
  } else if (what === 'die') process.kill(process.pid, 'SIGKILL')
  else if (what === 'effect') {
    const text = `insert into ${scene.app}.effect (job, actor) values ($1, $2)`
    const write = async (query) => {
      await query(text, [String(job.data.label ?? job.id), scene.name])
    }
    if (job.commit) await job.commit(write)
    else await write((sql, values) => app.query(sql, values))
  } else throw new Error(`no such step: ${step}`)
}

function tell(what, more) {
  appendFileSync(
    join(scene.directory, 'log'),
    `${JSON.stringify({ actor: scene.name, what, at: realNow(), ...more })}\n`,
  )
}

function setClockAhead(ms) {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...values) {
      if (values.length === 0) super(realNow() + ms)
      else super(...values)
    }
    static now() {
      return realNow() + ms
    }
  }
}
