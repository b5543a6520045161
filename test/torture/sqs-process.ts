/** A server of SQS on a port of its own, until SIGTERM. */
import { childJournal, childOptions, connected, untilDone } from './child.js'

const options = childOptions()
childJournal(options)
const fp = await connected(options.url, 4)
const port = options.sqsPorts[Number(options.slot.split('-')[1])] as number
const server = await untilDone(() => fp.serveSqs({ port, unsigned: true, poll: '200ms' }))
process.once('SIGTERM', () => void stop())
process.send?.('serves')

async function stop(): Promise<void> {
  await server.close()
  await fp.close()
  process.exit(0)
}
