#!/usr/bin/env bash
# A session with the AWS CLI: a queue, two messages, one received and deleted.
set -euo pipefail
endpoint=${SQS_ENDPOINT:-http://localhost:9324}
export AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-anything} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-anything}
export AWS_DEFAULT_REGION=us-east-1
sqs() { aws --endpoint-url "$endpoint" --output text sqs "$@"; }

queue=$(sqs create-queue --queue-name orders --query QueueUrl)
sqs send-message --queue-url "$queue" --message-body '{"order":"o-1"}' >/dev/null
sqs send-message --queue-url "$queue" --message-body '{"order":"o-2"}' >/dev/null

read -r body handle < <(sqs receive-message --queue-url "$queue" --query 'Messages[0].[Body,ReceiptHandle]')
echo "received $body"
sqs delete-message --queue-url "$queue" --receipt-handle "$handle"
sqs get-queue-attributes --queue-url "$queue" --attribute-names ApproximateNumberOfMessages --query Attributes
