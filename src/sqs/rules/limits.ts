/**
 * What Amazon SQS allows. The database functions check the size and the delay once more, against these same numbers.
 * Bytes are of UTF-8, lengths are in characters.
 */
export const sqsLimits = {
  messageBytesMin: 1_024,
  messageBytesMax: 1_048_576,
  /** Of all messages of one SendMessageBatch together. */
  batchBytesMax: 1_048_576,
  batchEntriesMax: 10,
  batchEntryIdLengthMax: 80,
  messageAttributesMax: 10,
  attributeNameLengthMax: 256,
  attributeTypeLengthMax: 256,
  numberDigitsMax: 38,
  numberExponentMin: -128,
  numberExponentMax: 126,
  /** Ours: a trace header counts toward no size on AWS, and so nothing else would bound it. */
  traceHeaderBytesMax: 1_024,
  delaySecondsMax: 900,
  visibilitySecondsMax: 43_200,
  waitSecondsMax: 20,
  retentionSecondsMin: 60,
  retentionSecondsMax: 1_209_600,
  receiveMessagesMax: 10,
  inFlightMax: 120_000,
  purgeIntervalSeconds: 60,
  deduplicationSeconds: 300,
  /** Of MessageGroupId, MessageDeduplicationId and ReceiveRequestAttemptId. */
  tokenLengthMax: 128,
  receiptHandleLengthMax: 1_024,
  queueNameLengthMax: 80,
  maxReceiveCountMax: 1_000,
  redriveSourcesMax: 10,
  kmsKeyIdLengthMax: 2_048,
  kmsReuseSecondsMin: 60,
  kmsReuseSecondsMax: 86_400,
  policyBytesMax: 8_192,
  policyStatementsMax: 20,
  policyPrincipalsMax: 50,
  policyActionsMax: 7,
  policyLabelLengthMax: 80,
  tagsMax: 50,
  tagKeyLengthMax: 128,
  tagValueLengthMax: 256,
} as const

/** What holds for a queue whose creator says nothing. */
export const sqsDefaults = {
  delaySeconds: 0,
  maximumMessageSize: sqsLimits.messageBytesMax,
  messageRetentionPeriod: 345_600,
  receiveMessageWaitTimeSeconds: 0,
  visibilityTimeout: 30,
  kmsDataKeyReusePeriodSeconds: 300,
  receiveMessages: 1,
} as const
