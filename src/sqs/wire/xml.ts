import type { Members, Shape } from './shape.js'

/** Writes values as the query protocol answers them: lists and maps flattened into elements side by side. */
export function membersAsXml(members: Members, fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(members)
    .map(([name, member]) => {
      const value = fields[name]
      return value === undefined ? '' : valueAsXml(member.query ?? name, member.shape, value)
    })
    .join('')
}

function valueAsXml(name: string, shape: Shape, value: unknown): string {
  switch (shape.kind) {
    case 'list':
      return (value as readonly unknown[]).map((item) => valueAsXml(name, shape.item, item)).join('')
    case 'map':
      return Object.entries(value as object)
        .map(([key, item]) => element(name, textElement(shape.key, key) + valueAsXml('Value', shape.value, item)))
        .join('')
    case 'structure':
      return element(name, membersAsXml(shape.members, value as Readonly<Record<string, unknown>>))
    case 'blob':
      return textElement(name, Buffer.from(value as Uint8Array).toString('base64'))
    default:
      return textElement(name, String(value))
  }
}

/** The content is XML already. */
export function element(name: string, content: string): string {
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}

export function textElement(name: string, text: string): string {
  // Not <a/>: some parsers read that as nothing rather than as the empty text.
  return `<${name}>${escapeXml(text)}</${name}>`
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#xD;', // a parser would make a line feed of it
}

/** What XML 1.0 has no way to write becomes U+FFFD; one such character would make the whole answer unreadable. */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uFFFD]/g, '\uFFFD')
    .replace(/[&<>"\r]/g, (character) => escapes[character] ?? character)
}
