import { fencepost, task, workflow } from 'fencepost'
import { z } from 'zod'

const shrinkPhoto = task('shrink-photo', {
  input: z.object({ photo: z.string(), width: z.number() }),
  run: ({ photo, width }) => `${photo} at ${width} px`,
})
const publishAlbum = task('publish-album', {
  input: z.object({ thumbnails: z.array(z.string()) }),
  run: ({ thumbnails }) => thumbnails.join(', '),
})

const thumbnails = workflow('thumbnails', {
  parameters: { photos: { type: 'array', required: true } },
  tasks: {
    shrink: {
      action: shrinkPhoto,
      withItems: '{{ parameters.photos }}',
      concurrency: 2,
      input: { photo: '{{ item }}', width: 200 },
      next: [{ when: '{{ succeeded() }}', do: 'publish' }],
    },
    publish: {
      action: publishAlbum,
      input: { thumbnails: '{{ tasks.shrink.result }}' },
    },
  },
  output: { album: '{{ tasks.publish.result }}' },
})

const fp = await fencepost()
await fp.work(thumbnails.tasks)
const run = await fp.workflows.start(thumbnails, { photos: ['cat', 'dog', 'emu'] })
console.log(`started ${run.id}`)
console.log(await run.result({ timeout: '30s' }))
await fp.close()
