/**
 * Huge pages for the buffers of a server, as PostgreSQL's manual advises for large ones. Only root may set them aside, and only the
 * kernel of Linux has them; what of them was given out elsewhere is left alone.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const countPath = '/proc/sys/vm/nr_hugepages'
/** What a server shares besides its buffers: 3 % of them, and what its sessions need. */
const [share, restMegabytes] = [1.04, 128]

/**
 * Sets aside enough for so many megabytes of buffers; undefined if that cannot be had. Once a server has taken them they can be given
 * back: it keeps them to its end, however that comes, and the kernel takes them then.
 */
export function setAsideHugePages(bufferMegabytes: number): { giveBack(): void } | undefined {
  try {
    const before = readFileSync(countPath, 'utf8')
    const [, pageKb] = /^Hugepagesize: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? []
    const more = Math.ceil(((bufferMegabytes * share + restMegabytes) * 1_024) / Number(pageKb))
    const giveBack = () => writeFileSync(countPath, before)
    writeFileSync(countPath, String(Number(before) + more))
    // The kernel sets aside as many as it finds, and says nothing if these are fewer.
    if (Number(readFileSync(countPath, 'utf8')) === Number(before) + more) return { giveBack }
    giveBack()
    return undefined
  } catch {
    return undefined
  }
}
