"""A small home and a clock for executors; the contract's assertions show their values."""

from pathlib import Path

import pytest

from danlu.settings import Settings


class Clock:
    """Stands still until a test moves it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", cpus=2, isolation="none")
