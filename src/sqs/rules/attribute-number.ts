import { sqsLimits } from './limits.js'

const decimal = /^[+-]?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/**
 * Whether a text is a number as attributes of type Number may hold: zero, or of a magnitude from 10^-128 to 10^126, with
 * up to 38 digits once the zeros at both ends are left away. It is kept as text, so that no digit is lost to a double.
 */
export function isAttributeNumber(text: string): boolean {
  const parts = decimal.exec(text)
  if (parts === null) return false
  const [, whole = '', fraction = '', exponent = '0'] = parts
  const digits = whole + fraction
  if (digits === '') return false
  const first = digits.search(/[1-9]/)
  if (first === -1) return true
  const significant = withoutTrailingZeros(digits.slice(first))
  if (significant.length > sqsLimits.numberDigitsMax) return false
  // The power of ten of the first digit that counts.
  const magnitude = whole.length - 1 - first + Number(exponent)
  if (magnitude === sqsLimits.numberExponentMax) return significant === '1'
  return magnitude >= sqsLimits.numberExponentMin && magnitude < sqsLimits.numberExponentMax
}

/** By hand: /0+$/ takes quadratic time on a long run of zeros that does not end the text. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
