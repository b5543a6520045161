import { isDeepStrictEqual } from 'node:util'
import { nearestName } from '../../task/nearest-name.js'
import { SqsError } from '../sqs-error.js'
import {
  type AttributeForm,
  choiceForm,
  fifoOnly,
  flagForm,
  invalidAttribute,
  keyIdForm,
  policyForm,
  redriveAllowPolicyForm,
  redrivePolicyForm,
  wholeNumberForm,
} from './attribute-forms.js'
import { echoed } from './characters.js'
import { sqsDefaults, sqsLimits } from './limits.js'
import { checkedQueueName, fifoNameText, isFifoName, standardNameText } from './queue-name.js'
import type { RedriveAllowPolicy, RedrivePolicy } from './redrive-policy.js'

/** Everything that can be set of a queue; complete, and plain JSON. Only FIFO queues heed the last three. */
export interface QueueSettings {
  readonly fifo: boolean
  readonly delaySeconds: number
  readonly maximumMessageSize: number
  readonly messageRetentionPeriod: number
  readonly receiveMessageWaitTimeSeconds: number
  readonly visibilityTimeout: number
  /** As it was written: nothing but AddPermission and RemovePermission reads it. */
  readonly policy: string | null
  readonly redrivePolicy: RedrivePolicy | null
  readonly redriveAllowPolicy: RedriveAllowPolicy | null
  /** Kept and shown, like the two after it; nothing is encrypted by it. */
  readonly kmsMasterKeyId: string | null
  readonly kmsDataKeyReusePeriodSeconds: number
  readonly sqsManagedSseEnabled: boolean
  readonly contentBasedDeduplication: boolean
  readonly deduplicationScope: 'queue' | 'messageGroup'
  readonly fifoThroughputLimit: 'perQueue' | 'perMessageGroupId'
}

/** The string map of CreateQueue and SetQueueAttributes. */
export type AttributeTexts = Readonly<Record<string, string>>

type Setting = Exclude<keyof QueueSettings, 'fifo'>
type SettingForms = { readonly [S in Setting]: AttributeForm<QueueSettings[S]> }

const forms: SettingForms = {
  delaySeconds: wholeNumberForm(0, sqsLimits.delaySecondsMax),
  maximumMessageSize: wholeNumberForm(sqsLimits.messageBytesMin, sqsLimits.messageBytesMax),
  messageRetentionPeriod: wholeNumberForm(sqsLimits.retentionSecondsMin, sqsLimits.retentionSecondsMax),
  receiveMessageWaitTimeSeconds: wholeNumberForm(0, sqsLimits.waitSecondsMax),
  visibilityTimeout: wholeNumberForm(0, sqsLimits.visibilitySecondsMax),
  policy: policyForm,
  redrivePolicy: redrivePolicyForm,
  redriveAllowPolicy: redriveAllowPolicyForm,
  kmsMasterKeyId: keyIdForm,
  kmsDataKeyReusePeriodSeconds: wholeNumberForm(sqsLimits.kmsReuseSecondsMin, sqsLimits.kmsReuseSecondsMax),
  sqsManagedSseEnabled: flagForm,
  contentBasedDeduplication: fifoOnly(flagForm),
  deduplicationScope: fifoOnly(choiceForm(['queue', 'messageGroup'])),
  fifoThroughputLimit: fifoOnly(choiceForm(['perQueue', 'perMessageGroupId'])),
}

/** Every attribute's name is its setting's, with a capital letter. */
const settingOf: ReadonlyMap<string, Setting> = new Map(
  (Object.keys(forms) as Setting[]).map((setting) => [`${setting[0]?.toUpperCase()}${setting.slice(1)}`, setting]),
)

export const settableAttributes: readonly string[] = [...settingOf.keys(), 'FifoQueue']

export function defaultSettings(fifo: boolean): QueueSettings {
  return {
    fifo,
    delaySeconds: sqsDefaults.delaySeconds,
    maximumMessageSize: sqsDefaults.maximumMessageSize,
    messageRetentionPeriod: sqsDefaults.messageRetentionPeriod,
    receiveMessageWaitTimeSeconds: sqsDefaults.receiveMessageWaitTimeSeconds,
    visibilityTimeout: sqsDefaults.visibilityTimeout,
    policy: null,
    redrivePolicy: null,
    redriveAllowPolicy: null,
    kmsMasterKeyId: null,
    kmsDataKeyReusePeriodSeconds: sqsDefaults.kmsDataKeyReusePeriodSeconds,
    // AWS says true since 2022. Here nothing is encrypted by the queue, and a default must not claim it.
    sqsManagedSseEnabled: false,
    contentBasedDeduplication: false,
    deduplicationScope: 'queue',
    fifoThroughputLimit: 'perQueue',
  }
}

/** The settings of a queue that CreateQueue is to make. */
export function createdSettings(name: string | undefined, asked: AttributeTexts = {}): QueueSettings {
  const fifo = isFifoName(checkedQueueName(name))
  checkFifoAsked(asked, fifo)
  return withAttributes(defaultSettings(fifo), asked)
}

/** The settings after SetQueueAttributes. */
export function changedSettings(existing: QueueSettings, asked: AttributeTexts): QueueSettings {
  const type = fifoAsked(asked)
  if (type !== undefined && type !== existing.fifo) {
    throw invalidAttribute('FifoQueue', 'Modifying queue type is not supported.')
  }
  return withAttributes(existing, asked)
}

/**
 * CreateQueue of a queue that exists: fine if every attribute that was given has the value that the queue has, since
 * programs create their queue whenever they start. Otherwise it names the first that differs.
 */
export function sameSettings(asked: AttributeTexts, existing: QueueSettings): void {
  checkFifoAsked(asked, existing.fifo)
  for (const { attribute, setting, value } of readAttributes(asked, existing.fifo)) {
    if (isDeepStrictEqual(comparable(setting, value), comparable(setting, existing[setting]))) continue
    throw new SqsError(
      'QueueNameExists',
      `A queue already exists with the same name and a different value for attribute ${attribute}`,
    )
  }
}

/** Of a policy the content counts, not the spaces in it. */
function comparable(setting: Setting, value: QueueSettings[Setting]): unknown {
  return setting === 'policy' && typeof value === 'string' ? JSON.parse(value) : value
}

function withAttributes(before: QueueSettings, asked: AttributeTexts): QueueSettings {
  const changes = readAttributes(asked, before.fifo).map(({ setting, value }) => [setting, value])
  const after = { ...before, ...Object.fromEntries(changes) } as QueueSettings
  if (after.fifoThroughputLimit === 'perMessageGroupId' && after.deduplicationScope !== 'messageGroup') {
    throw invalidAttribute('FifoThroughputLimit', 'perMessageGroupId needs the DeduplicationScope messageGroup.')
  }
  return after
}

interface ReadAttribute {
  readonly attribute: string
  readonly setting: Setting
  readonly value: QueueSettings[Setting]
}

/** All but FifoQueue, which is no setting: the name of the queue decides it. */
function readAttributes(asked: AttributeTexts, fifo: boolean): readonly ReadAttribute[] {
  const attributes = Object.entries(asked).filter(([attribute]) => attribute !== 'FifoQueue')
  return attributes.map(([attribute, text]) => {
    const setting = settingOf.get(attribute)
    if (setting === undefined) throw unknownAttribute(attribute, settableAttributes)
    const form = forms[setting]
    if (form.fifoOnly && !fifo) {
      throw new SqsError('InvalidAttributeName', `Unknown Attribute ${attribute}. Only FIFO queues have it.`)
    }
    return { attribute, setting, value: form.read(text, attribute, fifo) }
  })
}

function fifoAsked(asked: AttributeTexts): boolean | undefined {
  return Object.hasOwn(asked, 'FifoQueue') ? flagForm.read(asked['FifoQueue'] ?? '', 'FifoQueue', true) : undefined
}

function checkFifoAsked(asked: AttributeTexts, fifoName: boolean): void {
  const fifo = fifoAsked(asked)
  if (fifo === true && !fifoName) throw new SqsError('InvalidParameterValueException', fifoNameText)
  if (fifo !== true && fifoName) throw new SqsError('InvalidParameterValueException', standardNameText)
  if (fifo === false) {
    const hint = 'A standard queue is made by leaving it out.'
    throw new SqsError('InvalidAttributeName', `Unknown Attribute FifoQueue. ${hint}`)
  }
}

/** The settings as attributes, without those that are not set or that queues of this type do not have. */
export function writtenSettings(settings: QueueSettings): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [attribute, setting] of settingOf) {
    const form = forms[setting] as AttributeForm<QueueSettings[Setting]>
    const text = form.fifoOnly && !settings.fifo ? undefined : form.write(settings[setting])
    if (text !== undefined) texts[attribute] = text
  }
  if (settings.kmsMasterKeyId === null) delete texts['KmsDataKeyReusePeriodSeconds']
  if (settings.fifo) texts['FifoQueue'] = 'true'
  return texts
}

export function unknownAttribute(written: string, known: readonly string[]): SqsError {
  const nearest = nearestName(written.slice(0, 100), known)
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return new SqsError('InvalidAttributeName', `Unknown Attribute ${echoed(written)}.${hint}`)
}
