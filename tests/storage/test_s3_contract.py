"""The contract of storages, held against services that speak S3."""

from collections.abc import Iterator

import pytest

from danlu.storage.s3 import S3Storage
from danlu.storage.s3_patience import Patience
from danlu.testing.s3_server import SmallS3, endpoint, serve
from danlu.testing.storage import BucketContract


@pytest.fixture(scope="module")
def url() -> Iterator[tuple[SmallS3, str]]:
    service = SmallS3("bucket")
    with serve(service) as url:
        yield service, url


class TestSmallS3(BucketContract):
    """Every key there is: through a service that keeps them all."""

    @pytest.fixture
    def storage(self, url: tuple[SmallS3, str]) -> S3Storage:
        url[0].buckets["bucket"].clear()
        return S3Storage(endpoint(url[1]), "bucket", patience=Patience(20))
