import { nearestName } from '../../task/nearest-name.js'
import type { ExpressionError } from '../expression-error.js'
import { functionsElsewhere, functionsByName } from '../functions.js'
import { forms } from './forms.js'
import type { Place } from './place.js'
import type { Locals } from './run.js'
import { endingFunctions, knownWhere, type ScopeName, type ValueName } from './scope.js'

const valueNames = Object.keys(knownWhere).filter((name): name is ValueName => name !== 'ending')

export function isValueName(name: string): name is ValueName {
  return (valueNames as readonly string[]).includes(name)
}

/** Why a name cannot be used here. */
export function unknownName(name: string, place: Place, names: readonly ScopeName[], locals: Locals): ExpressionError {
  const known = [...locals, ...names.filter((each) => each !== 'ending')]
  if (isValueName(name)) return notHere(name, name, place, known)
  if ((endingFunctions as readonly string[]).includes(name))
    return place.error(`${name} is a function`, `Write ${name}().`)
  if (functionsByName.has(name) || forms.has(name)) return place.error(`${name} is a function`, `Write ${name}(…).`)
  const nearest = nearestName(name, known)
  return place.error(`${name} is not known`, `${didYouMean(nearest)}${dash(place)}${listed(known)}`)
}

/** Why a function cannot be called. */
export function unknownFunction(
  name: string,
  place: Place,
  names: readonly ScopeName[],
  locals: Locals,
): ExpressionError {
  if ((endingFunctions as readonly string[]).includes(name)) {
    return notHere('ending', `${name}()`, place, [...locals, ...names])
  }
  if (isValueName(name) || locals.includes(name)) return place.error(`${name} is a value, not a function`)
  const elsewhere = Object.hasOwn(functionsElsewhere, name) ? functionsElsewhere[name] : undefined
  const endings = names.includes('ending') ? endingFunctions : []
  const nearest = nearestName(name, [...functionsByName.keys(), ...forms.keys(), ...endings])
  const hint = elsewhere ?? `${didYouMean(nearest)}docs/reference/expressions.md lists the functions.`
  return place.error(`there is no function ${name}()`, hint)
}

function notHere(name: ScopeName, shown: string, place: Place, known: readonly string[]): ExpressionError {
  return place.error(`${shown} is only known ${knownWhere[name]}`, listed(known.filter((each) => each !== 'ending')))
}

function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : `Did you mean ${nearest}? `
}

function listed(known: readonly string[]): string {
  return known.length === 0 ? 'No names are known here.' : `Known here: ${[...new Set(known)].join(', ')}.`
}

/** tasks.scan-image is read as tasks.scan minus image; {image: x} looks up the value of image for the key. */
function dash({ source, offset, length }: Place): string {
  if (/[\w]-$/.test(source.slice(0, offset))) return "A name with a dash is written in brackets: tasks['a-name']. "
  const isKey = /[{,]\s*$/.test(source.slice(0, offset)) && /^\s*:/.test(source.slice(offset + length))
  return isKey ? "The keys of an object stand in quotes: {'key': value}. " : ''
}
