/** The endpoint in a process of its own and as it is shipped, as in production; ends with its parent. */
import { fencepost } from '../dist/src/index.js'

const [database, schema] = process.argv.slice(2)
const fp = await fencepost({ database, schema, migrate: false })
const server = await fp.serveSqs({ port: 0, keys: { AKIABENCH: { secret: 'secret' } } })
process.send({ port: server.port })
process.once('disconnect', () => void fp.close())
