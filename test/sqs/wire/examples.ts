import type { ActionName, InputOf, OutputOf } from '../../../src/sqs/wire/model.js'

/** One call of every action and its answer, with every member that there is. */
type Examples = { readonly [A in ActionName]: { readonly input: InputOf<A>; readonly output: OutputOf<A> } }

const QueueUrl = 'http://sqs.test:9324/000000000000/orders'
const deadUrl = 'http://sqs.test:9324/000000000000/orders-dead'
const ReceiptHandle = 'AQEB/handle+of=one=='
const sourceArn = 'arn:aws:sqs:us-east-1:000000000000:orders-dead'
const destinationArn = 'arn:aws:sqs:us-east-1:000000000000:orders'

const MessageAttributes = {
  City: { DataType: 'String', StringValue: 'Zürich & <Genève>' },
  Picture: { DataType: 'Binary.png', BinaryValue: Buffer.from([0, 1, 254, 255]) },
  Weight: { DataType: 'Number', StringValue: '12.5' },
}
const MessageSystemAttributes = {
  AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-5759e988-bd862e3fe1be46a994272793' },
}
const Failed = [
  { Id: 'b', SenderFault: true, Code: 'ReceiptHandleIsInvalid', Message: 'The handle is not one of ours.' },
]

export const examples: Examples = {
  CreateQueue: {
    input: { QueueName: 'orders', Attributes: { VisibilityTimeout: '45', DelaySeconds: '5' }, tags: { team: 'shop' } },
    output: { QueueUrl },
  },
  DeleteQueue: { input: { QueueUrl }, output: {} },
  ListQueues: {
    input: { QueueNamePrefix: 'ord', NextToken: 'page 2', MaxResults: 2 },
    output: { QueueUrls: [QueueUrl, deadUrl], NextToken: 'page 3' },
  },
  GetQueueUrl: { input: { QueueName: 'orders', QueueOwnerAWSAccountId: '000000000000' }, output: { QueueUrl } },
  GetQueueAttributes: {
    input: { QueueUrl, AttributeNames: ['VisibilityTimeout', 'RedrivePolicy'] },
    output: { Attributes: { VisibilityTimeout: '45', RedrivePolicy: '{"maxReceiveCount":3}' } },
  },
  SetQueueAttributes: { input: { QueueUrl, Attributes: { VisibilityTimeout: '60', Policy: '' } }, output: {} },
  PurgeQueue: { input: { QueueUrl }, output: {} },
  SendMessage: {
    input: {
      QueueUrl,
      MessageBody: '{"order": 1, "note": "50% + tax\r\n"}',
      DelaySeconds: 5,
      MessageAttributes,
      MessageSystemAttributes,
      MessageDeduplicationId: 'order-1',
      MessageGroupId: 'customer 7',
    },
    output: {
      MD5OfMessageBody: '3d8f12c9a6a7c6d6a2c37b0d9a1d2e4f',
      MD5OfMessageAttributes: '9b2a6a7c6d6a2c37b0d9a1d2e4f3d8f1',
      MD5OfMessageSystemAttributes: '7c6d6a2c37b0d9a1d2e4f3d8f19b2a6a',
      MessageId: '0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f',
      SequenceNumber: '18849496460467696128',
    },
  },
  SendMessageBatch: {
    input: {
      QueueUrl,
      Entries: [
        { Id: 'a', MessageBody: 'one', MessageAttributes, MessageSystemAttributes, DelaySeconds: 0 },
        { Id: 'b', MessageBody: 'zwei 🚀', MessageDeduplicationId: 'two', MessageGroupId: 'g' },
      ],
    },
    output: {
      Successful: [
        {
          Id: 'a',
          MessageId: '0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f',
          MD5OfMessageBody: 'f97c5d29941bfb1b2fdab0874906ab82',
          MD5OfMessageAttributes: '9b2a6a7c6d6a2c37b0d9a1d2e4f3d8f1',
          MD5OfMessageSystemAttributes: '7c6d6a2c37b0d9a1d2e4f3d8f19b2a6a',
          SequenceNumber: '18849496460467696128',
        },
      ],
      Failed,
    },
  },
  ReceiveMessage: {
    input: {
      QueueUrl,
      AttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['City', 'Pict.*'],
      MaxNumberOfMessages: 10,
      VisibilityTimeout: 0,
      WaitTimeSeconds: 20,
      ReceiveRequestAttemptId: 'try-1',
    },
    output: {
      Messages: [
        {
          MessageId: '0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f',
          ReceiptHandle,
          MD5OfBody: '41fe5eec6f4f26f5f5e4aae9bcfea2d6',
          Body: '<order note="a & b">\r\n\t2\n</order>',
          Attributes: { SenderId: 'AKTEST', SentTimestamp: '1794825103000', ApproximateReceiveCount: '1' },
          MD5OfMessageAttributes: '9b2a6a7c6d6a2c37b0d9a1d2e4f3d8f1',
          MessageAttributes,
        },
        {
          MessageId: '0198c1a2-7b1e-7cc3-98c4-dc0c0c073990',
          ReceiptHandle: 'h2',
          MD5OfBody: '7215ee9c7d9dc229d2921a40e899ec5f',
          Body: ' ',
        },
      ],
    },
  },
  DeleteMessage: { input: { QueueUrl, ReceiptHandle }, output: {} },
  DeleteMessageBatch: {
    input: {
      QueueUrl,
      Entries: [
        { Id: 'a', ReceiptHandle },
        { Id: 'b', ReceiptHandle: 'no' },
      ],
    },
    output: { Successful: [{ Id: 'a' }], Failed },
  },
  ChangeMessageVisibility: { input: { QueueUrl, ReceiptHandle, VisibilityTimeout: 120 }, output: {} },
  ChangeMessageVisibilityBatch: {
    input: {
      QueueUrl,
      Entries: [
        { Id: 'a', ReceiptHandle, VisibilityTimeout: 0 },
        { Id: 'b', ReceiptHandle: 'no', VisibilityTimeout: 43200 },
      ],
    },
    output: { Successful: [{ Id: 'a' }], Failed },
  },
  TagQueue: { input: { QueueUrl, Tags: { team: 'shop', 'cost centre': '42' } }, output: {} },
  UntagQueue: { input: { QueueUrl, TagKeys: ['team', 'cost centre'] }, output: {} },
  ListQueueTags: { input: { QueueUrl }, output: { Tags: { team: 'shop', 'cost centre': '42' } } },
  ListDeadLetterSourceQueues: {
    input: { QueueUrl: deadUrl, NextToken: 'page 2', MaxResults: 1 },
    output: { queueUrls: [QueueUrl], NextToken: 'page 3' },
  },
  AddPermission: {
    input: {
      QueueUrl,
      Label: 'let-them-send',
      AWSAccountIds: ['111111111111', '222222222222'],
      Actions: ['SendMessage', 'GetQueueUrl'],
    },
    output: {},
  },
  RemovePermission: { input: { QueueUrl, Label: 'let-them-send' }, output: {} },
  StartMessageMoveTask: {
    input: { SourceArn: sourceArn, DestinationArn: destinationArn, MaxNumberOfMessagesPerSecond: 50 },
    output: { TaskHandle: 'dGFzayAx' },
  },
  CancelMessageMoveTask: {
    input: { TaskHandle: 'dGFzayAx' },
    output: { ApproximateNumberOfMessagesMoved: 5_000_000_000 },
  },
  ListMessageMoveTasks: {
    input: { SourceArn: sourceArn, MaxResults: 10 },
    output: {
      Results: [
        {
          TaskHandle: 'dGFzayAx',
          Status: 'RUNNING',
          SourceArn: sourceArn,
          DestinationArn: destinationArn,
          MaxNumberOfMessagesPerSecond: 50,
          ApproximateNumberOfMessagesMoved: 12,
          ApproximateNumberOfMessagesToMove: 40,
          StartedTimestamp: 1794825103000,
        },
        { Status: 'FAILED', SourceArn: sourceArn, FailureReason: 'AccessDenied', StartedTimestamp: 1794825000000 },
      ],
    },
  },
}
