/**
 * Text from the database on one line of a terminal. Names, reasons and error messages are written by others: a line
 * break would fake a row, an escape sequence could move the cursor or worse.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, escaped)
}

function escaped(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  if (character === '\r') return '\\r'
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
