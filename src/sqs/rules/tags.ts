import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'
import { sqsLimits } from './limits.js'
import { missingParameter } from './parameter-errors.js'

export type Tags = Readonly<Record<string, string>>

/** Letters, digits and spaces of any script, and a little punctuation. */
const allowed = /^[\p{L}\p{N}\p{Z}_.:/=+@-]*$/u
const characters = 'can only include letters, numbers, spaces, and _ . : / = + - @.'

/** The tags of a new queue: none is fine. */
export function createdTags(queueName: string, tags: Tags = {}): Tags {
  return withinLimit(queueName, checkedTags(tags))
}

/** The tags after TagQueue: new values take the place of old ones. */
export function tagsWith(queueName: string, existing: Tags, added: Tags = {}): Tags {
  if (Object.keys(added).length === 0) throw missingParameter('Tags')
  return withinLimit(queueName, { ...existing, ...checkedTags(added) })
}

/** The tags after UntagQueue: keys that the queue does not have are no error. */
export function tagsWithout(existing: Tags, keys: readonly string[] = []): Tags {
  if (keys.length === 0) throw missingParameter('TagKeys')
  for (const key of keys) checkKey(key)
  return Object.fromEntries(Object.entries(existing).filter(([key]) => !keys.includes(key)))
}

function checkedTags(tags: Tags): Tags {
  for (const [key, value] of Object.entries(tags)) {
    checkKey(key)
    if (!allowed.test(key)) throw invalid(`The tag key ${echoed(key)} ${characters}`)
    if (/^aws:/i.test(key))
      throw invalid(`The tag key ${echoed(key)} is invalid. Keys with the prefix aws: are reserved.`)
    if (value.length > sqsLimits.tagValueLengthMax) {
      throw invalid(`Tag values must be between 0 and ${sqsLimits.tagValueLengthMax} characters in length.`)
    }
    if (!allowed.test(value)) throw invalid(`The value of the tag ${echoed(key)} ${characters}`)
  }
  return tags
}

function checkKey(key: string): void {
  if (key.length >= 1 && key.length <= sqsLimits.tagKeyLengthMax) return
  throw invalid(`Tag keys must be between 1 and ${sqsLimits.tagKeyLengthMax} characters in length.`)
}

function withinLimit(queueName: string, tags: Tags): Tags {
  if (Object.keys(tags).length <= sqsLimits.tagsMax) return tags
  throw invalid(`Too many tags added for queue ${queueName}. It can have ${sqsLimits.tagsMax}.`)
}

function invalid(text: string): SqsError {
  return new SqsError('InvalidParameterValueException', text)
}
