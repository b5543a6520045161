import {
  blob,
  boolean,
  type FieldsOf,
  integer,
  list,
  long,
  type Members,
  map,
  optional,
  required,
  string,
  structure,
} from './shape.js'

/**
 * Every action of the SQS API, version 2012-11-05: what it takes and what it answers, by the names of the JSON
 * protocol, with the names of the query protocol beside them. The odd spellings (`tags`, `queueUrls`) are the API's.
 */
const queueAttributes = map('Name', string)
const tags = map('Key', string)
const strings = list(string)

const messageAttributeValue = structure({
  DataType: required(string),
  StringValue: optional(string),
  BinaryValue: optional(blob),
  StringListValues: optional(strings, 'StringListValue'),
  BinaryListValues: optional(list(blob), 'BinaryListValue'),
})

const messageAttributes = map('Name', messageAttributeValue)

/** What a message consists of when it is sent, alone or in a batch. */
const messageToSend = {
  MessageBody: required(string),
  DelaySeconds: optional(integer),
  MessageAttributes: optional(messageAttributes, 'MessageAttribute'),
  MessageSystemAttributes: optional(messageAttributes, 'MessageSystemAttribute'),
  MessageDeduplicationId: optional(string),
  MessageGroupId: optional(string),
}

const receivedMessage = structure({
  MessageId: optional(string),
  ReceiptHandle: optional(string),
  MD5OfBody: optional(string),
  Body: optional(string),
  Attributes: optional(map('Name', string), 'Attribute'),
  MD5OfMessageAttributes: optional(string),
  MessageAttributes: optional(messageAttributes, 'MessageAttribute'),
})

const failedEntries = required(
  list(
    structure({
      Id: required(string),
      SenderFault: required(boolean),
      Code: required(string),
      Message: optional(string),
    }),
  ),
  'BatchResultErrorEntry',
)

const idOnly = structure({ Id: required(string) })

export const actions = {
  CreateQueue: {
    input: {
      QueueName: required(string),
      Attributes: optional(queueAttributes, 'Attribute'),
      tags: optional(tags, 'Tag'),
    },
    output: { QueueUrl: optional(string) },
  },
  DeleteQueue: { input: { QueueUrl: required(string) }, output: {} },
  ListQueues: {
    input: { QueueNamePrefix: optional(string), NextToken: optional(string), MaxResults: optional(integer) },
    output: { QueueUrls: optional(strings, 'QueueUrl'), NextToken: optional(string) },
  },
  GetQueueUrl: {
    input: { QueueName: required(string), QueueOwnerAWSAccountId: optional(string) },
    output: { QueueUrl: optional(string) },
  },
  GetQueueAttributes: {
    input: { QueueUrl: required(string), AttributeNames: optional(strings, 'AttributeName') },
    output: { Attributes: optional(queueAttributes, 'Attribute') },
  },
  SetQueueAttributes: {
    input: { QueueUrl: required(string), Attributes: required(queueAttributes, 'Attribute') },
    output: {},
  },
  PurgeQueue: { input: { QueueUrl: required(string) }, output: {} },
  SendMessage: {
    input: { QueueUrl: required(string), ...messageToSend },
    output: {
      MD5OfMessageBody: optional(string),
      MD5OfMessageAttributes: optional(string),
      MD5OfMessageSystemAttributes: optional(string),
      MessageId: optional(string),
      SequenceNumber: optional(string),
    },
  },
  SendMessageBatch: {
    input: {
      QueueUrl: required(string),
      Entries: required(list(structure({ Id: required(string), ...messageToSend })), 'SendMessageBatchRequestEntry'),
    },
    output: {
      Successful: required(
        list(
          structure({
            Id: required(string),
            MessageId: required(string),
            MD5OfMessageBody: required(string),
            MD5OfMessageAttributes: optional(string),
            MD5OfMessageSystemAttributes: optional(string),
            SequenceNumber: optional(string),
          }),
        ),
        'SendMessageBatchResultEntry',
      ),
      Failed: failedEntries,
    },
  },
  ReceiveMessage: {
    input: {
      QueueUrl: required(string),
      // The query protocol has one name for both, so that a list in it is read as either.
      AttributeNames: optional(strings, 'AttributeName'),
      MessageSystemAttributeNames: optional(strings, 'AttributeName'),
      MessageAttributeNames: optional(strings, 'MessageAttributeName'),
      MaxNumberOfMessages: optional(integer),
      VisibilityTimeout: optional(integer),
      WaitTimeSeconds: optional(integer),
      ReceiveRequestAttemptId: optional(string),
    },
    output: { Messages: optional(list(receivedMessage), 'Message') },
  },
  DeleteMessage: { input: { QueueUrl: required(string), ReceiptHandle: required(string) }, output: {} },
  DeleteMessageBatch: {
    input: {
      QueueUrl: required(string),
      Entries: required(
        list(structure({ Id: required(string), ReceiptHandle: required(string) })),
        'DeleteMessageBatchRequestEntry',
      ),
    },
    output: { Successful: required(list(idOnly), 'DeleteMessageBatchResultEntry'), Failed: failedEntries },
  },
  ChangeMessageVisibility: {
    input: {
      QueueUrl: required(string),
      ReceiptHandle: required(string),
      VisibilityTimeout: required(integer),
    },
    output: {},
  },
  ChangeMessageVisibilityBatch: {
    input: {
      QueueUrl: required(string),
      Entries: required(
        list(
          structure({
            Id: required(string),
            ReceiptHandle: required(string),
            VisibilityTimeout: optional(integer),
          }),
        ),
        'ChangeMessageVisibilityBatchRequestEntry',
      ),
    },
    output: { Successful: required(list(idOnly), 'ChangeMessageVisibilityBatchResultEntry'), Failed: failedEntries },
  },
  TagQueue: { input: { QueueUrl: required(string), Tags: required(tags, 'Tag') }, output: {} },
  UntagQueue: { input: { QueueUrl: required(string), TagKeys: required(strings, 'TagKey') }, output: {} },
  ListQueueTags: { input: { QueueUrl: required(string) }, output: { Tags: optional(tags, 'Tag') } },
  ListDeadLetterSourceQueues: {
    input: { QueueUrl: required(string), NextToken: optional(string), MaxResults: optional(integer) },
    output: { queueUrls: required(strings, 'QueueUrl'), NextToken: optional(string) },
  },
  AddPermission: {
    input: {
      QueueUrl: required(string),
      Label: required(string),
      AWSAccountIds: required(strings, 'AWSAccountId'),
      Actions: required(strings, 'ActionName'),
    },
    output: {},
  },
  RemovePermission: { input: { QueueUrl: required(string), Label: required(string) }, output: {} },
  StartMessageMoveTask: {
    input: {
      SourceArn: required(string),
      DestinationArn: optional(string),
      MaxNumberOfMessagesPerSecond: optional(integer),
    },
    output: { TaskHandle: optional(string) },
  },
  CancelMessageMoveTask: {
    input: { TaskHandle: required(string) },
    output: { ApproximateNumberOfMessagesMoved: optional(long) },
  },
  ListMessageMoveTasks: {
    input: { SourceArn: required(string), MaxResults: optional(integer) },
    output: {
      Results: optional(
        list(
          structure({
            TaskHandle: optional(string),
            Status: optional(string),
            SourceArn: optional(string),
            DestinationArn: optional(string),
            MaxNumberOfMessagesPerSecond: optional(integer),
            ApproximateNumberOfMessagesMoved: optional(long),
            ApproximateNumberOfMessagesToMove: optional(long),
            FailureReason: optional(string),
            StartedTimestamp: optional(long),
          }),
        ),
        'ListMessageMoveTasksResultEntry',
      ),
    },
  },
} as const satisfies Record<string, { readonly input: Members; readonly output: Members }>

export type ActionName = keyof typeof actions
/** Of a union of actions, the union of what they take. */
export type InputOf<A extends ActionName> = A extends ActionName ? FieldsOf<(typeof actions)[A]['input']> : never
export type OutputOf<A extends ActionName> = A extends ActionName ? FieldsOf<(typeof actions)[A]['output']> : never

export type MessageAttributeValue = FieldsOf<(typeof messageAttributeValue)['members']>
export type ReceivedMessage = FieldsOf<(typeof receivedMessage)['members']>

export const actionNames = Object.keys(actions) as ActionName[]

export function isActionName(name: string): name is ActionName {
  return Object.hasOwn(actions, name)
}
