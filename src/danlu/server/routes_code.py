"""Routes of code archives, named by what is in them: an archive is uploaded once."""

import asyncio
import hashlib
import tempfile
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from danlu.errors import NotFound, Refused
from danlu.server.context import Ours
from danlu.server.models import CodeView

router = APIRouter(prefix="/v1")

Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
_BLOCK = 1 << 20


@router.head("/code/{sha256}")
def code_known(ours: Ours, sha256: Digest) -> Response:
    if not ours.service.code_known(sha256):
        raise NotFound("code archive", sha256)
    return Response()


@router.put("/code/{sha256}", status_code=201, response_model=CodeView)
async def upload_code(ours: Ours, sha256: Digest, request: Request) -> Response:
    """Take an archive; the SHA-256 of its bytes must be its name."""
    # A file without a name: nothing is left of it whatever happens to this process.
    with tempfile.TemporaryFile(dir=ours.settings.home) as file:
        received = await _receive(request, file)
        if received != sha256:
            raise Refused(
                f"The SHA-256 of what arrived is {received}, not {sha256}.",
                hint="The archive was damaged on its way; upload it again.",
            )
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
