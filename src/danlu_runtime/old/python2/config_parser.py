"""``ConfigParser`` of Python 2, with names and a method removed in Python 3.12."""

import configparser
from collections.abc import Iterable
from configparser import (
    DuplicateSectionError,
    Error,
    InterpolationError,
    MissingSectionHeaderError,
    NoOptionError,
    NoSectionError,
    ParsingError,
)

__all__ = [
    "ConfigParser",
    "DuplicateSectionError",
    "Error",
    "InterpolationError",
    "MissingSectionHeaderError",
    "NoOptionError",
    "NoSectionError",
    "ParsingError",
    "RawConfigParser",
    "SafeConfigParser",
]


class RawConfigParser(configparser.RawConfigParser):
    def readfp(self, fp: Iterable[str], filename: str | None = None) -> None:
        self.read_file(fp, filename)


class ConfigParser(configparser.ConfigParser):
    def readfp(self, fp: Iterable[str], filename: str | None = None) -> None:
        self.read_file(fp, filename)


SafeConfigParser = ConfigParser
