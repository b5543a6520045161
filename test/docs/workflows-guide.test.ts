import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { readWorkflowText } from '../../src/workflow/workflow-file.js'

const guide = readFileSync(join(packageRoot, 'docs', 'guides', 'workflows.md'), 'utf8')

describe('docs/guides/workflows.md', () => {
  const parts = [...guide.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text as string)

  it.each(parts)('shows YAML that is valid, but for the name it leaves out: %s', (text) => {
    const read = readWorkflowText(`name: part\n${text}`, 'part.yaml')
    expect('problems' in read ? read.text : '').toBe('')
  })

  it('links to headings that are there', () => {
    const slugs = [...guide.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      (title as string)
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    const links = [...guide.matchAll(/\]\(#([^)]+)\)/g)].map(([, slug]) => slug as string)
    expect(links.length).toBeGreaterThan(0)
    expect(links.filter((slug) => !slugs.includes(slug))).toEqual([])
  })
})

const directory = join(packageRoot, 'examples', 'workflows')
const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.yaml') && !file.endsWith('rehearsal.yaml'),
)

it.each(files)('examples/workflows/%s is valid', (file) => {
  const read = readWorkflowText(readFileSync(join(directory, file), 'utf8'), file)
  expect('problems' in read ? read.text : '').toBe('')
})
