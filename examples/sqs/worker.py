"""A worker in Python: receives the messages of a queue until it is empty for a while, and deletes what it has done."""
import json
import os

import boto3

sqs = boto3.client(
    "sqs",
    endpoint_url=os.environ.get("SQS_ENDPOINT", "http://localhost:9324"),
    region_name="us-east-1",
    aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", "anything"),
    aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "anything"),
)
queue = sqs.get_queue_url(QueueName="orders")["QueueUrl"]

while True:
    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=2)
    messages = answer.get("Messages", [])
    if not messages:
        break
    for message in messages:
        order = json.loads(message["Body"])
        print(f"packed {order['order']}")
        # Only now: if this process dies before, the message becomes visible again.
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
