import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { fencepost, httpTask, task } from '../../src/index.js'
import { setup } from '../harness/setup.js'
import { workflowOf } from '../harness/workflows.js'

interface Heard {
  readonly method: string
  readonly url: string
  readonly body: string
  readonly headers: IncomingMessage['headers']
}

async function setupHttp(answer: (request: IncomingMessage, response: ServerResponse, port: number) => void) {
  const heard: Heard[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += String(chunk)
    })
    request.on('end', () => {
      heard.push({ method: request.method as string, url: request.url as string, body, headers: request.headers })
      answer(request, response, (server.address() as AddressInfo).port)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { url } = await setup()
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  await fp.work([httpTask({ allow: [`127.0.0.1:${port}`], retry: { limit: 1, delay: 1 }, bodyBytesMax: 1_000 })], {
    poll: '50ms',
  })
  const run = async (input: string) => {
    const workflow = workflowOf(`
name: call
parameters: { port: integer }
tasks: [{ name: call, action: core.http, input: ${input} }]
output: { status: "{{ tasks.call.result.status }}", body: "{{ tasks.call.result.body }}" }
`)
    const { id } = await fp.workflows.start(workflow, { port })
    await fp.result(id, { timeout: '10s' }).catch(() => {})
    const { state, output, error } = await fp.workflows.run(id)
    return { state, output, code: error?.code, message: error?.message }
  }
  return { run, heard, port }
}

it('calls a host that is allowed, with the id of its job as the idempotency key on every attempt', async () => {
  const { run, heard } = await setupHttp((_, response) => {
    response.writeHead(heard.length === 1 ? 503 : 200, { 'content-type': 'application/json' })
    response.end('{"ok":true}')
  })
  expect(
    await run('{ url: "http://127.0.0.1:{{ parameters.port }}/pay", body: { cents: 5 }, headers: { x-a: b } }'),
  ).toMatchObject({
    state: 'succeeded',
    output: { status: 200, body: { ok: true } },
  })
  expect(heard).toMatchObject([
    { method: 'POST', url: '/pay', body: '{"cents":5}', headers: { 'x-a': 'b', 'content-type': 'application/json' } },
    { method: 'POST' },
  ])
  const keys = heard.map(({ headers }) => headers['idempotency-key'])
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(keys[1]).toBe(keys[0])
})

it.each([
  ['another host', '{ url: "http://example.com/" }', 'HostNotAllowed'],
  ['another port', '{ url: "http://127.0.0.1:1/" }', 'HostNotAllowed'],
  ['a password in it', '{ url: "http://a:b@127.0.0.1:{{ parameters.port }}/" }', 'BadUrl'],
  ['another protocol', '{ url: "{{ \'file:///etc/passwd\' }}" }', 'BadUrl'],
])('does not call a URL with %s', async (_, input, code) => {
  const { run, heard } = await setupHttp((_request, response) => response.end())
  expect(await run(input)).toMatchObject({ state: 'failed', code })
  expect(heard).toEqual([])
})

it('follows a redirect only to where it may go, and tells no other host its secrets', async () => {
  const { run, heard } = await setupHttp((request, response, port) => {
    const to =
      request.url === '/out'
        ? 'http://example.com/'
        : request.url === '/in'
          ? `http://127.0.0.1:${port}/there`
          : undefined
    response.writeHead(to ? 302 : 200, to ? { location: to } : {})
    response.end('there')
  })
  expect(await run('{ url: "http://127.0.0.1:{{ parameters.port }}/in" }')).toMatchObject({ output: { body: 'there' } })
  expect(await run('{ url: "http://127.0.0.1:{{ parameters.port }}/out" }')).toMatchObject({ code: 'HostNotAllowed' })
  expect(heard.map(({ url }) => url)).toEqual(['/in', '/there', '/out', '/out'])
})

it('a status that is not expected is a failure, and so is a body that is too large', async () => {
  const { run } = await setupHttp((request, response) => {
    response.writeHead(request.url === '/404' ? 404 : 200)
    response.end(request.url === '/large' ? 'x'.repeat(2_000) : 'nothing here')
  })
  expect(await run('{ url: "http://127.0.0.1:{{ parameters.port }}/404" }')).toMatchObject({
    state: 'failed',
    code: 'Http404',
    message: 'task call failed: 404 Not Found: nothing here',
  })
  expect(await run('{ url: "http://127.0.0.1:{{ parameters.port }}/404", expect: [404] }')).toMatchObject({
    output: { status: 404 },
  })
  expect(await run('{ url: "http://127.0.0.1:{{ parameters.port }}/large" }')).toMatchObject({ code: 'BodyTooLarge' })
})

it('refuses what is not a list of hosts, and names of its own for other tasks', () => {
  for (const allow of [[], ['https://example.com'], 'example.com', undefined]) {
    expect(() => httpTask({ allow: allow as string[] })).toThrow(/must list hosts/)
  }
  expect(() => task('core.http', { input: {} as never, run: () => {} })).toThrow(/cannot be called/)
})
