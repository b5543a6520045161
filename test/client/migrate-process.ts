import { migrate } from '../../src/store/migrator.js'

// A process that migrates when it is told to: run by migrate.test.ts, several at a time.
process.on('message', (target: { url: string; schema: string }) => {
  void migrate(target)
    .then(
      (status) => process.send?.({ status }),
      (error: unknown) => process.send?.({ error: String(error) }),
    )
    .finally(() => process.disconnect())
})
process.send?.('ready')
