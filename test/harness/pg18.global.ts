import type { TestProject } from 'vitest/node'
import { startTestServer } from './test-server.js'

export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer('embedded')
  project.provide('serverUrl', server.url)
  return () => server.stop()
}
