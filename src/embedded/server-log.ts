import { open, rename, stat, type FileHandle } from 'node:fs/promises'

const logBytesMax = 4 * 1024 * 1024
const tailBytesMax = 16 * 1024

/** The server's log file. It is appended to, and set aside once when a server starts with a large one. */
export class ServerLog {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  async open(): Promise<FileHandle> {
    if ((await this.size()) > logBytesMax) await rename(this.path, `${this.path}.old`)
    // Statements with their values may be in it.
    return await open(this.path, 'a', 0o600)
  }

  async size(): Promise<number> {
    try {
      return (await stat(this.path)).size
    } catch {
      return 0
    }
  }

  /** The last lines written after the given position. */
  async tail(position = 0, linesMax = 12): Promise<string> {
    let file: FileHandle
    try {
      file = await open(this.path, 'r')
    } catch {
      return ''
    }
    try {
      const { size } = await file.stat()
      const from = Math.max(position, size - tailBytesMax)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - from)), { position: from })
      return buffer.subarray(0, bytesRead).toString('utf8').trimEnd().split('\n').slice(-linesMax).join('\n')
    } finally {
      await file.close()
    }
  }
}
