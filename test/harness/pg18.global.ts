import type { TestProject } from 'vitest/node'
import { embeddedTestServer } from './test-server.js'

export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const server = await embeddedTestServer()
  project.provide('serverUrl', server.url)
  return () => server.stop()
}
