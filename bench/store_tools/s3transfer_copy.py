"""python s3transfer_copy.py up|down FOLDER BUCKET PREFIX: boto3's own manager, many at once."""

import sys
from pathlib import Path

import boto3
from botocore.config import Config
from s3transfer.manager import TransferConfig, TransferManager

how, folder, bucket, prefix = sys.argv[1:]
client = boto3.client("s3", config=Config(max_pool_connections=16))
with TransferManager(client, TransferConfig(max_request_concurrency=16)) as manager:
    coming = []
    if how == "up":
        for path in Path(folder).iterdir():
            coming.append(manager.upload(str(path), bucket, f"{prefix}/{path.name}"))
    else:
        Path(folder).mkdir(exist_ok=True)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        for page in pages:
            for item in page["Contents"]:
                name = item["Key"].rpartition("/")[2]
                coming.append(manager.download(bucket, item["Key"], f"{folder}/{name}"))
    for one in coming:
        one.result()
