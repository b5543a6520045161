// A relay between a client and its server: the connection can be cut when the server has answered and the client has not
// yet heard it, and all connections can be cut and refused for a while.
import { createServer, connect } from 'node:net'

export class Proxy {
  #sockets = new Set()
  #cutNext
  #away = false
  cuts = 0

  static async to(host, port) {
    const proxy = new Proxy()
    proxy.server = createServer((client) => proxy.#relay(client, host, port))
    await new Promise((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    proxy.port = proxy.server.address().port
    return proxy
  }

  #relay(client, host, port) {
    if (this.#away) {
      client.destroy()
      return
    }
    const server = connect(port, host)
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
    let asked = false
    client.on('data', (bytes) => {
      asked ||= this.#cutNext !== undefined && bytes.includes(this.#cutNext)
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (!asked || this.#cutNext === undefined) {
        client.write(bytes)
        return
      }
      // The server has done what was asked, and says so to nobody.
      this.#cutNext = undefined
      this.cuts++
      server.destroy()
      client.destroy()
    })
  }

  /** The answer to the next request that holds this text does not arrive. */
  cutAnswerTo(text) {
    this.#cutNext = text
  }

  goAway() {
    this.#away = true
    for (const socket of this.#sockets) socket.destroy()
  }

  comeBack() {
    this.#away = false
  }

  close() {
    this.goAway()
    this.server.close()
  }
}
