import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fencepost, httpTask, workflow } from 'fencepost'

const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ euro: 1.08, keyed: request.headers['idempotency-key'] !== undefined }))
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo

const rates = workflow('rates', {
  parameters: { url: { type: 'string', required: true }, token: { type: 'string', secret: true } },
  tasks: {
    fetch: {
      action: 'core.http',
      input: { url: '{{ parameters.url }}', headers: { authorization: 'Bearer {{ parameters.token }}' } },
      retry: { count: 3, delay: '1s', when: "{{ error.code in ['Http429', 'Http503'] }}" },
      timeout: '10s',
    },
  },
  output: { answer: '{{ tasks.fetch.result.body }}' },
})

const fp = await fencepost()
await fp.work([httpTask({ allow: [`127.0.0.1:${port}`] })])
for (const url of [`http://127.0.0.1:${port}/rates`, 'http://169.254.169.254/latest/meta-data']) {
  const run = await fp.workflows.start(rates, { url, token: 'hush' })
  console.log(`started ${run.id}`)
  await run.result({ timeout: '30s' }).catch(() => {})
  const { state, output, error } = await fp.workflows.run(run.id)
  console.log(error ? `${state}: ${error.code}` : state, output)
}
await fp.close()
server.close()
