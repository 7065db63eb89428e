"""Routes for code archives, which are named by their SHA-256 and uploaded only once."""

import asyncio
import hashlib
import tempfile
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from danlu.errors import NotFound, Refused
from danlu.server.context import Ours
from danlu.server.schemas import CodeView

router = APIRouter(prefix="/v1")

Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
_BLOCK = 1 << 20


@router.head("/code/{sha256}")
def code_known(ours: Ours, sha256: Digest) -> Response:
    if not ours.service.code_known(sha256):
        raise NotFound("code_archive", sha256)
    return Response()


@router.put("/code/{sha256}", status_code=201, response_model=CodeView)
async def upload_code(ours: Ours, sha256: Digest, request: Request) -> Response:
    """Take an archive; the SHA-256 of its bytes must be its name."""
    # The file has no name, so the kernel deletes it however this process ends.
    with tempfile.TemporaryFile(dir=ours.settings.home) as file:
        received = await _receive(request, file)
        if received != sha256:
            raise Refused.from_key("server.digest_differs", received=received, sha256=sha256)
        file.seek(0)
        uri = await asyncio.to_thread(ours.service.accept_code, sha256, file)
    return JSONResponse({"uri": uri}, 201)


async def _receive(request: Request, file: BinaryIO) -> str:
    digest = hashlib.sha256()
    block = bytearray()

    def keep(data: bytes) -> None:
        digest.update(data)
        file.write(data)

    async for piece in request.stream():
        block += piece
        if len(block) >= _BLOCK:
            await asyncio.to_thread(keep, bytes(block))
            block.clear()
    await asyncio.to_thread(keep, bytes(block))
    return digest.hexdigest()
