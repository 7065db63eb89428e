"""python s3fs_copy.py up|down FOLDER BUCKET PREFIX"""

import os
import sys

import s3fs

how, folder, bucket, prefix = sys.argv[1:]
files = s3fs.S3FileSystem(endpoint_url=os.environ["AWS_ENDPOINT_URL"])
if how == "up":
    files.put(f"{folder}/", f"{bucket}/{prefix}/", recursive=True)
else:
    files.get(f"{bucket}/{prefix}/", f"{folder}/", recursive=True)
