"""python obstore_copy.py up|down FOLDER BUCKET PREFIX: 16 files at once.

By threads: with asyncio, the process sometimes aborts when it exits (obstore 0.12.1).
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
from obstore.store import S3Store

how, folder, bucket, prefix = sys.argv[1:]
store = S3Store(
    bucket,
    endpoint=os.environ["AWS_ENDPOINT_URL"],
    virtual_hosted_style_request=False,
    client_options={"allow_http": True},
)


def up(path: Path) -> None:
    obstore.put(store, f"{prefix}/{path.name}", path)


def down(key: str) -> None:
    with open(f"{folder}/{key.rpartition('/')[2]}", "wb") as file:
        for piece in obstore.get(store, key).stream(min_chunk_size=1 << 20):
            file.write(piece)


with ThreadPoolExecutor(16) as pool:
    if how == "up":
        done = pool.map(up, Path(folder).iterdir())
    else:
        Path(folder).mkdir(exist_ok=True)
        keys = [item["path"] for page in obstore.list(store, f"{prefix}/") for item in page]
        done = pool.map(down, keys)
    for _ in done:
        pass
