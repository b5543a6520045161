import { join } from 'node:path'
import { fencepost, readWorkflowFile, task } from 'fencepost'
import { z } from 'zod'

const shrinkPhoto = task('shrink-photo', {
  input: z.object({ photo: z.string(), width: z.number() }),
  run: ({ photo, width }) => `${photo} at ${width} px`,
})
const publishAlbum = task('publish-album', {
  input: z.object({ thumbnails: z.array(z.string()) }),
  run: ({ thumbnails }) => thumbnails.join(', '),
})

const fp = await fencepost()
await fp.work([shrinkPhoto, publishAlbum])
await fp.workflows.deploy(await readWorkflowFile(join(import.meta.dirname, 'fan-out.yaml')))

const run = await fp.workflows.start('thumbnails', { photos: ['cat', 'dog', 'emu'] })
console.log(`started ${run.id}`)
console.log(await run.result({ timeout: '30s' }))
await fp.close()
