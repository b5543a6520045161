#!/bin/sh
# A session at the command line of AWS. Prints what each command answers that a person would look at.
set -eu
export AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1 AWS_PAGER= AWS_MAX_ATTEMPTS=1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
endpoint=$1
sqs() { /usr/bin/aws --endpoint-url "$endpoint" --output text sqs "$@"; }

url=$(sqs create-queue --queue-name orders --attributes VisibilityTimeout=60)
echo "created $url"
sqs list-queues --queue-name-prefix ord
sqs send-message --queue-url "$url" --message-body 'hallo <&> ü' --message-attributes '{"k":{"DataType":"String","StringValue":"v"}}' --query MD5OfMessageBody
sqs receive-message --queue-url "$url" --attribute-names All --message-attribute-names All --wait-time-seconds 2 \
  --query 'Messages[].[Body,Attributes.ApproximateReceiveCount,MessageAttributes.k.StringValue]'
sqs send-message-batch --queue-url "$url" --entries Id=a,MessageBody=one Id=b,MessageBody=two --query 'Successful[].Id'
handle=$(sqs receive-message --queue-url "$url" --query 'Messages[0].ReceiptHandle')
sqs change-message-visibility --queue-url "$url" --receipt-handle "$handle" --visibility-timeout 0
handle=$(sqs receive-message --queue-url "$url" --query 'Messages[0].ReceiptHandle')
sqs delete-message --queue-url "$url" --receipt-handle "$handle"
sqs get-queue-attributes --queue-url "$url" --attribute-names ApproximateNumberOfMessages --query Attributes.ApproximateNumberOfMessages
sqs purge-queue --queue-url "$url"
sqs get-queue-attributes --queue-url "$url" --attribute-names All --query Attributes.ApproximateNumberOfMessages
sqs get-queue-url --queue-name none 2>&1 || echo "code $?"
sqs delete-queue --queue-url "$url"
sqs list-queues
