// A server of fauxqs: in memory, nothing survives it. Tells its port, and ends with its parent.
import { startFauxqs } from 'fauxqs'

const server = await startFauxqs({ port: 0, logger: false })
process.send({ port: server.port })
process.on('disconnect', () => process.exit())
