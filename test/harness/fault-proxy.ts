import { onTestFinished } from 'vitest'
import { ServerProxy } from './server-proxy.js'

export type FaultProxy = ServerProxy

/** A proxy that ends with its test. */
export const FaultProxy = {
  async start(serverUrl: string): Promise<ServerProxy> {
    const proxy = await ServerProxy.start(serverUrl)
    onTestFinished(() => proxy.stop())
    return proxy
  },
}
