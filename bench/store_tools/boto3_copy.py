"""python boto3_copy.py up|down FOLDER BUCKET PREFIX: one after the other, as most scripts do."""

import sys
from pathlib import Path

import boto3

how, folder, bucket, prefix = sys.argv[1:]
client = boto3.client("s3")
if how == "up":
    for path in Path(folder).iterdir():
        client.upload_file(str(path), bucket, f"{prefix}/{path.name}")
else:
    Path(folder).mkdir(exist_ok=True)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
    for page in pages:
        for item in page["Contents"]:
            name = item["Key"].rpartition("/")[2]
            client.download_file(bucket, item["Key"], f"{folder}/{name}")
