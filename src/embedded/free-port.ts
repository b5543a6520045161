import { createServer } from 'node:net'

/**
 * The preferred port if it is free, else one the system picks. It can be taken before the server binds it; the caller
 * must be ready to choose again.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined) {
    try {
      return await bindOnce(preferred)
    } catch {
      // Taken: any other will do.
    }
  }
  return await bindOnce(0)
}

function bindOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = probe.address()
      probe.close(() => {
        if (address && typeof address === 'object') resolve(address.port)
        else reject(new Error('The system gave no port'))
      })
    })
  })
}
