"""Calls every action that boto3 has on the server at argv[1], with the input on stdin, and prints what came back."""

import base64
import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError


def main():
    client = boto3.client(
        "sqs",
        endpoint_url=sys.argv[1],
        region_name="us-east-1",
        aws_access_key_id=sys.argv[2],
        aws_secret_access_key=sys.argv[3],
        config=Config(retries={"total_max_attempts": 1}),
    )
    model = client.meta.service_model
    answers = {}
    for action, given in json.load(sys.stdin).items():
        if action not in model.operation_names:
            continue
        try:
            answer = client._make_api_call(action, known(model.operation_model(action).input_shape, given))
            answer.pop("ResponseMetadata")
        except ClientError as error:
            answer = {"Error": error.response["Error"], "Class": type(error).__name__}
        answers[action] = answer
    print(json.dumps({"protocol": model.metadata["protocol"], "answers": answers}, default=as_base64))


def known(shape, given):
    """Bytes come as {"base64": …}; a boto3 that is older than a member is not told of it."""
    if isinstance(given, dict) and list(given) == ["base64"]:
        return base64.b64decode(given["base64"])
    if shape.type_name == "structure":
        return {name: known(shape.members[name], value) for name, value in given.items() if name in shape.members}
    if shape.type_name == "map":
        return {name: known(shape.value, value) for name, value in given.items()}
    if shape.type_name == "list":
        return [known(shape.member, value) for value in given]
    return given


def as_base64(value):
    return {"base64": base64.b64encode(value).decode()}


main()
