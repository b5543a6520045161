"""What a program with boto3 does, in the query protocol of its Debian version. Says `ok` for each thing that holds."""

import sys
import time
import urllib.request

import boto3
import botocore.config
import botocore.exceptions

endpoint = sys.argv[1]
settings = dict(region_name="us-east-1", aws_access_key_id="AKIATEST", endpoint_url=endpoint)
config = botocore.config.Config(retries={"max_attempts": 0})
sqs = boto3.client("sqs", aws_secret_access_key="secret", config=config, **settings)


def holds(what, truth):
    if not truth:
        raise AssertionError(what)
    print("ok", what, flush=True)


def refused(call, code, status):
    try:
        call()
    except botocore.exceptions.ClientError as error:
        told = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
        return told == (code, status) or print("refused with", told)
    return False


url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "5"}, tags={"team": "a"})["QueueUrl"]
holds("a queue has a URL at the endpoint", url == endpoint + "/000000000000/orders")
holds("it is found by its name", sqs.get_queue_url(QueueName="orders")["QueueUrl"] == url)
holds("its tags are kept", sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "a"})

body = "grüße <&> \U0001f389\n\"'"
sent = sqs.send_message(
    QueueUrl=url,
    MessageBody=body,
    MessageAttributes={
        "text": {"DataType": "String", "StringValue": "ü <&>"},
        "number": {"DataType": "Number", "StringValue": "1e3"},
        "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    },
)
received = sqs.receive_message(QueueUrl=url, AttributeNames=["All"], MessageAttributeNames=["All"])["Messages"]
holds("a message is received to the byte, and its digest is right", [m["Body"] for m in received] == [body])
message = received[0]
holds("under its id", message["MessageId"] == sent["MessageId"])
holds("with a digest of its attributes", message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"])
holds("with binary attributes", message["MessageAttributes"]["bytes"]["BinaryValue"] == bytes(range(256)))
holds("with text attributes", message["MessageAttributes"]["text"]["StringValue"] == "ü <&>")
holds("with its count", message["Attributes"]["ApproximateReceiveCount"] == "1")
sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=60)
sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
holds("it is deleted", "Messages" not in sqs.receive_message(QueueUrl=url))

entries = [{"Id": str(n), "MessageBody": "b%d" % n} for n in range(10)]
holds("a batch is sent", len(sqs.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 10)
batch = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
holds("and received", sorted(m["Body"] for m in batch) == ["b%d" % n for n in range(10)])
receipts = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(batch)]
changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=[dict(r, VisibilityTimeout=9) for r in receipts])
holds("and hidden longer", len(changed["Successful"]) == 10)
deleted = sqs.delete_message_batch(QueueUrl=url, Entries=receipts[:9] + [{"Id": "x", "ReceiptHandle": "nonsense"}])
holds("and deleted, entry by entry", len(deleted["Successful"]) == 9 and deleted["Failed"][0]["Id"] == "x")
holds("an entry's error has a code", deleted["Failed"][0]["Code"] == "ReceiptHandleIsInvalid")
counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
holds("what is in flight is counted", counts["ApproximateNumberOfMessagesNotVisible"] == "1")

fifo = sqs.create_queue(QueueName="f.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
numbers = [
    sqs.send_message(QueueUrl=fifo, MessageBody=str(n), MessageGroupId="g", MessageDeduplicationId=str(n))["SequenceNumber"]
    for n in [0, 1, 2, 1]
]
holds("sequence numbers rise, and a duplicate has that of the first", numbers == sorted(numbers[:3]) + [numbers[1]])
in_order = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
holds("a group comes in order", [m["Body"] for m in in_order] == ["0", "1", "2"])
holds("with its attributes", in_order[0]["Attributes"]["MessageGroupId"] == "g")

begun = time.monotonic()
holds("a long poll ends with nothing", "Messages" not in sqs.receive_message(QueueUrl=fifo, WaitTimeSeconds=1))
holds("after its time", 0.9 < time.monotonic() - begun < 5)

holds("errors have classes", issubclass(sqs.exceptions.QueueDoesNotExist, botocore.exceptions.ClientError))
try:
    sqs.get_queue_url(QueueName="none")
except sqs.exceptions.QueueDoesNotExist as error:
    holds("by name", "does not exist" in str(error))
for call, code, status in [
    (lambda: sqs.get_queue_url(QueueName="none"), "AWS.SimpleQueueService.NonExistentQueue", 400),
    (lambda: sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "6"}), "QueueAlreadyExists", 400),
    (lambda: sqs.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=901), "InvalidParameterValue", 400),
    (lambda: sqs.send_message(QueueUrl=url, MessageBody="x\x01"), "InvalidMessageContents", 400),
    (lambda: sqs.send_message(QueueUrl=fifo, MessageBody="x"), "MissingParameter", 400),
    (lambda: sqs.delete_message(QueueUrl=url, ReceiptHandle="x"), "ReceiptHandleIsInvalid", 404),
    (lambda: sqs.send_message_batch(QueueUrl=url, Entries=entries + entries), "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400),
]:
    holds("an error says " + code, refused(call, code, status))
stranger = boto3.client("sqs", aws_secret_access_key="guess", config=config, **settings)
holds("a wrong secret is refused", refused(stranger.list_queues, "SignatureDoesNotMatch", 403))

presigned = sqs.generate_presigned_url("list_queues", Params={"QueueNamePrefix": "or"}, ExpiresIn=60, HttpMethod="GET")
holds("a presigned URL is enough", url in urllib.request.urlopen(presigned).read().decode())
try:
    urllib.request.urlopen(presigned.replace("QueueNamePrefix=or", "QueueNamePrefix=f"))
    holds("another one is not", False)
except urllib.error.HTTPError as error:
    holds("another one is not", error.code == 403)

queue = boto3.resource("sqs", aws_secret_access_key="secret", config=config, **settings).get_queue_by_name(QueueName="orders")
queue.send_message(MessageBody="by the resource")
holds("the resource works", [m.body for m in queue.receive_messages(WaitTimeSeconds=5)] == ["by the resource"])
pages = list(sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 1}))
holds("pages are followed", [u for page in pages for u in page.get("QueueUrls", [])] == [fifo, url])
sqs.purge_queue(QueueUrl=url)
holds("a purge comes once in a minute", refused(lambda: sqs.purge_queue(QueueUrl=url), "AWS.SimpleQueueService.PurgeQueueInProgress", 403))
sqs.delete_queue(QueueUrl=url)
holds("a queue is deleted", sqs.list_queues()["QueueUrls"] == [fifo])
