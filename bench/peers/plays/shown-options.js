/** Options as they are printed below a verdict. */
export function shownOptions(options) {
  return JSON.stringify(options).replaceAll('"', '')
}
