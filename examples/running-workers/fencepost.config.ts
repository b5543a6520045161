import { defineConfig } from 'fencepost'

export default defineConfig({
  tasks: './tasks',
  concurrency: 20,
  grace: '20s',
})
