/** A process that takes the lock in the directory given, says `held`, and never lets go. */
import { DirectoryLock } from '../../src/embedded/directory-lock.js'

await new DirectoryLock(process.argv[2] ?? '').hold(async () => {
  process.stdout.write('held\n')
  await new Promise(() => setInterval(() => {}, 60_000))
})
