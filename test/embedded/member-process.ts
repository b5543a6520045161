/**
 * A process that joins the embedded server, steered line by line through its standard input. It says `loaded`, and then
 * answers `join` and `leave` with one line of JSON each. It ends when its input ends, without leaving.
 */
import { createInterface } from 'node:readline'
import { type EmbeddedServer, joinEmbeddedServer } from '../../src/embedded/embedded-server.js'
import { FencepostError } from '../../src/errors.js'

export interface MemberOptions {
  readonly directory: string
  readonly systemDirectory: string
  readonly settings: Readonly<Record<string, string>>
  readonly keepRunning?: boolean
}

export interface MemberAnswer {
  readonly url?: string
  readonly port?: number
  readonly failure?: { readonly code: string; readonly message: string }
}

const options: MemberOptions = JSON.parse(process.argv[2] ?? '{}')
let server: EmbeddedServer | undefined

say('loaded')
for await (const command of createInterface({ input: process.stdin })) {
  try {
    if (command === 'join') {
      server = await joinEmbeddedServer(options, options)
      say(JSON.stringify({ url: server.url, port: server.port } satisfies MemberAnswer))
    } else {
      await server?.leave()
      say('{}')
    }
  } catch (error) {
    const code = error instanceof FencepostError ? error.code : 'unexpected'
    say(JSON.stringify({ failure: { code, message: String(error) } } satisfies MemberAnswer))
  }
}
process.exit(0)

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
