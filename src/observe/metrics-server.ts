import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import type { Fencepost } from '../client/fencepost.js'
import { FencepostError } from '../errors.js'
import { defaults, limits } from '../limits.js'
import { checkedInteger, checkedName, checkOptionNames } from '../task/options.js'
import { collectMetrics } from './metrics.js'

export interface MetricsOptions {
  /** 0 for any free one. */
  readonly port?: number
  /** Only this machine by default; `0.0.0.0` for a scraper elsewhere. */
  readonly host?: string
}

export interface MetricsServer {
  readonly url: string
  readonly registry: Registry
  close(): Promise<void>
}

/** Serves `/metrics` for Prometheus, and `/healthz`. */
export async function serveMetrics(
  fp: Pick<Fencepost, 'on' | 'queues'>,
  options: MetricsOptions = {},
): Promise<MetricsServer> {
  const { port, host } = checkedMetricsOptions(options)
  const metrics = await collectMetrics(fp)
  const { collectDefaultMetrics } = await import('prom-client')
  // A worker that serves nothing is spared it: from Node 22 on, its client for fetch() comes along.
  const { createServer } = await import('node:http')
  // Of the process: a blocked event loop is what keeps heartbeats from being sent.
  collectDefaultMetrics({ register: metrics.registry })
  const server = createServer(answerWith(metrics.registry))
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    metrics.stop()
    throw new FencepostError('FP_METRICS_UNAVAILABLE', (error as Error).message, { cause: error })
  }
  const { address, family, port: given } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${given}/metrics`,
    registry: metrics.registry,
    async close() {
      metrics.stop()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections() // a scraper keeps its connection; it must not keep us
      await closed
    },
  }
}

export function checkedMetricsOptions(options: MetricsOptions, what = 'serveMetrics()'): Required<MetricsOptions> {
  checkOptionNames(options, ['port', 'host'] satisfies (keyof MetricsOptions)[], what)
  return {
    port: checkedInteger(options.port ?? defaults.metricsPort, `port of ${what}`, 0, limits.portMax),
    host: checkedName(options.host ?? defaults.metricsHost, `host of ${what}`),
  }
}

/** `/healthz` speaks for this process alone: a database that is away is no reason to restart it. */
function answerWith(registry: Registry): RequestListener {
  return (request, response) => {
    const path = request.url?.split('?')[0]
    if (path === '/healthz') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n')
    } else if (path === '/metrics') {
      registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        (error: Error) => response.writeHead(500, { 'content-type': 'text/plain' }).end(`${error.message}\n`),
      )
    } else {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('There are /metrics and /healthz.\n')
    }
  }
}
