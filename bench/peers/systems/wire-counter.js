/**
 * What this process says to PostgreSQL, counted on its own sockets: that is the same for every library, needs nothing of
 * the server, and counts at once, which the server's statistics of a session that stays open do not. It only counts when
 * told to, which it is for warm-ups: then what is measured pays for nothing.
 */
import net from 'node:net'

const [query, execute, readyForQuery, idle] = Buffer.from('QEZI')
let counts

export function beginCounting() {
  counts = { statements: 0, commits: 0 }
}

export function endCounting() {
  const counted = counts
  counts = undefined
  return counted
}

/** Every connection to this port from now on. */
export function watchConnectionsTo(port) {
  const connect = Reflect.get(net.Socket.prototype, 'connect')
  net.Socket.prototype.connect = function (...args) {
    this.once('connect', () => this.remotePort === port && watch(this))
    return Reflect.apply(connect, this, args)
  }
}

function watch(socket) {
  const onSent = eachMessage((type) => {
    if (type === query || type === execute) counts.statements++
  })
  // Outside of a transaction again: one has ended.
  const onReceived = eachMessage((type, status) => {
    if (type === readyForQuery && status === idle) counts.commits++
  })
  const write = socket.write.bind(socket)
  let greeted = false
  socket.write = (chunk, ...more) => {
    if (counts && greeted) onSent(chunk)
    greeted = true // the first message has no type
    return write(chunk, ...more)
  }
  socket.on('data', (chunk) => counts && onReceived(chunk))
}

/** A type, a length and the rest, wherever the chunks are cut; counting begins and ends between two messages. */
function eachMessage(heard) {
  let [rest, skip] = [Buffer.alloc(0), 0]
  return (chunk) => {
    const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let at = skip
    while (at + 5 <= data.length && (data[at] !== readyForQuery || at + 6 <= data.length)) {
      heard(data[at], data[at + 5])
      at += 1 + data.readUInt32BE(at + 1)
    }
    rest = data.subarray(Math.min(at, data.length))
    skip = Math.max(0, at - data.length)
  }
}
