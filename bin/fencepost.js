#!/usr/bin/env node
// The compiled command line lives in dist/; a checkout whose install scripts were switched off has not built it yet.
import { existsSync } from 'node:fs'

const main = new URL('../dist/src/cli/main.js', import.meta.url)
if (!existsSync(main)) {
  console.error('fencepost is not built yet. Run: npm run build')
  process.exit(1)
}
await import(main.href)
