import type { HttpRequest, Protocol } from '../../../src/sqs/wire/http-message.js'

/** Requests that are answered by the decoders alone. */
export const refusedRequests: Readonly<Record<Protocol, readonly HttpRequest[]>> = {
  json: [
    // the action
    { ...json('SendMessage', '{}'), headers: { 'content-type': 'application/x-amz-json-1.0' } },
    json('LaunchMissiles', '{}'),
    json('__proto__', '{}'),
    { ...json('', '{}'), headers: { 'x-amz-target': 'DynamoDB_20120810.ListTables' } },
    // the body
    json('ListQueues', '{'),
    json('ListQueues', 'QueueNamePrefix=a'),
    json('ListQueues', '[]'),
    json('ListQueues', 'null'),
    json('ListQueues', '"text"'),
    json('ListQueues', `{"QueueNamePrefix":${'['.repeat(200)}${']'.repeat(200)}}`),
    // what must be there
    json('SendMessage', '{"MessageBody":"a"}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":null}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":"a","MessageAttributes":{"A":{"StringValue":"x"}}}'),
    json('SendMessageBatch', '{"QueueUrl":"q"}'),
    json('SendMessageBatch', '{"QueueUrl":"q","Entries":[]}'),
    json('SendMessageBatch', '{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"a"},{"Id":"b"}]}'),
    json('SetQueueAttributes', '{"QueueUrl":"q"}'),
    // of the wrong type
    json('SendMessage', '{"QueueUrl":1,"MessageBody":"a"}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":{"a":1}}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":"a","DelaySeconds":"5"}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":"a","DelaySeconds":1.5}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":"a","DelaySeconds":2147483648}'),
    json('SendMessage', '{"QueueUrl":"q","MessageBody":"a","DelaySeconds":true}'),
    json('SetQueueAttributes', '{"QueueUrl":"q","Attributes":{"DelaySeconds":5}}'),
    json('SetQueueAttributes', '{"QueueUrl":"q","Attributes":[]}'),
    json('SetQueueAttributes', '{"QueueUrl":"q","Attributes":{"DelaySeconds":null}}'),
    json('GetQueueAttributes', '{"QueueUrl":"q","AttributeNames":"All"}'),
    json('GetQueueAttributes', '{"QueueUrl":"q","AttributeNames":["All",7]}'),
    json('DeleteMessageBatch', '{"QueueUrl":"q","Entries":["a"]}'),
    ...['not base64', 'QQ', 'QQ==Q', 'QR=='].map((BinaryValue) =>
      json(
        'SendMessage',
        JSON.stringify({
          QueueUrl: 'q',
          MessageBody: 'a',
          MessageAttributes: { A: { DataType: 'Binary', BinaryValue } },
        }),
      ),
    ),
  ],
  query: [
    // the action
    get('/'),
    get('/?Version=2012-11-05'),
    get('/?Action=LaunchMissiles&Version=2012-11-05'),
    get('/?Action=__proto__'),
    get('/?Action=ListQueues&Version=2009-02-01'),
    // the encoding
    get('/?Action=ListQueues&QueueNamePrefix=%'),
    get('/?Action=ListQueues&QueueNamePrefix=%C3'),
    form('Action=ListQueues&QueueNamePrefix=%zz'),
    // what must be there
    form('Action=SendMessage&MessageBody=a'),
    get('/000000000000/orders?Action=SendMessage'),
    form(
      'Action=SendMessage&QueueUrl=q&MessageBody=a&MessageAttribute.1.Name=A&MessageAttribute.1.Value.StringValue=x',
    ),
    form('Action=SendMessage&QueueUrl=q&MessageBody=a&MessageAttribute.1.Name=A'),
    form('Action=SendMessage&QueueUrl=q&MessageBody=a&MessageAttribute.1.Value.DataType=String'),
    form('Action=SendMessageBatch&QueueUrl=q'),
    form('Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry='),
    form('Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry.2.Id=a'),
    form('Action=SetQueueAttributes&QueueUrl=q'),
    form('Action=SetQueueAttributes&QueueUrl=q&Attribute.1.Name=DelaySeconds'),
    form('Action=UntagQueue&QueueUrl=q&TagKey.1.2=a'),
    // of the wrong type
    ...['', 'five', '5.0', '0x5', '2147483648', '99999999999999999999'].map((delay) =>
      form(`Action=SendMessage&QueueUrl=q&MessageBody=a&DelaySeconds=${delay}`),
    ),
    form('Action=TagQueue&QueueUrl=q&Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=a&Tag.2.Value=2'),
    form(
      'Action=SendMessage&QueueUrl=q&MessageBody=a&MessageAttribute.1.Name=A&MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=QQ',
    ),
  ],
}

function json(action: string, body: string): HttpRequest {
  return {
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` },
    body: Buffer.from(body),
  }
}

function form(body: string): HttpRequest {
  return {
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from(body),
  }
}

function get(url: string): HttpRequest {
  return { method: 'GET', url, headers: {}, body: Buffer.alloc(0) }
}
