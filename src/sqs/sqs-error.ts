/** The errors of the SQS wire, by the names of their shapes: the code of the query protocol, the HTTP status, and whose fault. */
export const sqsErrors = {
  BatchEntryIdsNotDistinct: { queryCode: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct', status: 400 },
  BatchRequestTooLong: { queryCode: 'AWS.SimpleQueueService.BatchRequestTooLong', status: 400 },
  EmptyBatchRequest: { queryCode: 'AWS.SimpleQueueService.EmptyBatchRequest', status: 400 },
  InvalidBatchEntryId: { queryCode: 'AWS.SimpleQueueService.InvalidBatchEntryId', status: 400 },
  TooManyEntriesInBatchRequest: { queryCode: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest', status: 400 },
  QueueDoesNotExist: { queryCode: 'AWS.SimpleQueueService.NonExistentQueue', status: 400 },
  QueueNameExists: { queryCode: 'QueueAlreadyExists', status: 400 },
  QueueDeletedRecently: { queryCode: 'AWS.SimpleQueueService.QueueDeletedRecently', status: 400 },
  PurgeQueueInProgress: { queryCode: 'AWS.SimpleQueueService.PurgeQueueInProgress', status: 403 },
  InvalidAttributeName: { queryCode: 'InvalidAttributeName', status: 400 },
  InvalidAttributeValue: { queryCode: 'InvalidAttributeValue', status: 400 },
  InvalidMessageContents: { queryCode: 'InvalidMessageContents', status: 400 },
  UnsupportedOperation: { queryCode: 'AWS.SimpleQueueService.UnsupportedOperation', status: 400 },
  MessageNotInflight: { queryCode: 'AWS.SimpleQueueService.MessageNotInflight', status: 400 },
  ReceiptHandleIsInvalid: { queryCode: 'ReceiptHandleIsInvalid', status: 404 },
  OverLimit: { queryCode: 'OverLimit', status: 403 },
  ResourceNotFoundException: { queryCode: 'ResourceNotFoundException', status: 404 },
  InvalidAddress: { queryCode: 'InvalidAddress', status: 404 },
  InvalidSecurity: { queryCode: 'InvalidSecurity', status: 403 },
  RequestThrottled: { queryCode: 'RequestThrottled', status: 403 },
  InvalidParameterValueException: { queryCode: 'InvalidParameterValue', status: 400 },
  MissingParameterException: { queryCode: 'MissingParameter', status: 400 },
  InvalidParameterCombinationException: { queryCode: 'InvalidParameterCombination', status: 400 },
  InvalidAction: { queryCode: 'InvalidAction', status: 400 },
  NoSuchVersion: { queryCode: 'NoSuchVersion', status: 400 },
  MalformedQueryString: { queryCode: 'MalformedQueryString', status: 404 },
  SerializationException: { queryCode: 'MalformedInput', status: 400 },
  AccessDeniedException: { queryCode: 'AccessDenied', status: 403 },
  InvalidClientTokenId: { queryCode: 'InvalidClientTokenId', status: 403 },
  MissingAuthenticationToken: { queryCode: 'MissingAuthenticationToken', status: 403 },
  IncompleteSignature: { queryCode: 'IncompleteSignature', status: 403 },
  SignatureDoesNotMatch: { queryCode: 'SignatureDoesNotMatch', status: 403 },
  RequestExpired: { queryCode: 'RequestExpired', status: 403 },
  MethodNotAllowed: { queryCode: 'MethodNotAllowed', status: 405 },
  UnsupportedMediaType: { queryCode: 'UnsupportedMediaType', status: 415 },
  RequestEntityTooLarge: { queryCode: 'RequestEntityTooLarge', status: 413 },
  ServiceUnavailable: { queryCode: 'ServiceUnavailable', status: 503 },
  InternalFailure: { queryCode: 'InternalFailure', status: 500 },
} as const satisfies Record<string, { readonly queryCode: string; readonly status: number }>

export type SqsErrorName = keyof typeof sqsErrors

/** What a client of the SQS wire is told: of a request, or of one entry of a batch. */
export class SqsError extends Error {
  readonly shape: SqsErrorName

  constructor(shape: SqsErrorName, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SqsError'
    this.shape = shape
  }

  get status(): number {
    return sqsErrors[this.shape].status
  }

  get queryCode(): string {
    return sqsErrors[this.shape].queryCode
  }

  get senderFault(): boolean {
    return this.status < 500
  }
}
