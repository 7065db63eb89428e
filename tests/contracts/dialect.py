"""The contract tests for dialects. Subclass and define the fixtures for module and request."""

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from danlu.errors import InvalidJob
from danlu.job.plan import Command, Isolation, Place
from danlu.job.wire import from_wire, to_wire


class DialectContract:
    @pytest.fixture
    def dialect(self) -> ModuleType:
        raise NotImplementedError

    @pytest.fixture
    def request_of(self) -> Mapping[str, Any]:
        """Return a minimal request of the dialect."""
        raise NotImplementedError

    def test_reading_is_repeatable(self, dialect: Any, request_of: Mapping[str, Any]) -> None:
        assert dialect.read(request_of) == dialect.read(request_of)

    def test_a_spec_knows_its_dialect(self, dialect: Any, request_of: Mapping[str, Any]) -> None:
        assert dialect.read(request_of).dialect == dialect.NAME

    def test_a_misspelt_field_is_never_ignored(
        self, dialect: Any, request_of: Mapping[str, Any]
    ) -> None:
        with pytest.raises(InvalidJob, match=r"paramters: is not a field\. Did you mean"):
            dialect.read({**request_of, "paramters": {}})

    def test_every_wrong_value_is_reported_at_once(
        self, dialect: Any, request_of: Mapping[str, Any]
    ) -> None:
        wrong = {"nodes": 0, "gpus": -1, "cpus": "two", "memory": "much", "name": "a b", "env": 3}
        with pytest.raises(InvalidJob) as caught:
            dialect.read({**request_of, **wrong})

        assert {field for field, _ in caught.value.faults} == set(wrong)

    def test_one_node_is_one_process(self, dialect: Any, request_of: Mapping[str, Any]) -> None:
        roles = dialect.roles(dialect.read(request_of))

        assert [(role.count, role.decides) for role in roles] == [(1, True)]

    def test_a_command_is_plain_data(self, dialect: Any, request_of: Mapping[str, Any]) -> None:
        command = self._command(dialect, request_of)

        assert from_wire(Command, to_wire(command)) == command

    def test_without_private_paths_every_path_is_real_one(
        self, dialect: Any, request_of: Mapping[str, Any]
    ) -> None:
        private = self._command(dialect, request_of)
        mapped = self._command(dialect, request_of, root="/real/root")

        for fixed, real in zip(_paths(private), _paths(mapped), strict=True):
            assert real == f"/real/root{fixed}"

    def test_values_reach_the_script_as_they_are(
        self, dialect: Any, request_of: Mapping[str, Any]
    ) -> None:
        value = "; rm -rf $(HOME) `x` 'q' \"d\" a=b --c 中文\nnext"
        command = self._command(dialect, {**request_of, "parameters": {"note": value}})

        assert any(word.endswith(value) for word in command.args)

    def _command(self, dialect: Any, request: Mapping[str, Any], *, root: str = "") -> Command:
        spec = dialect.read(request)
        role = dialect.roles(spec)[-1]
        place = Place(role.name, 0, isolation=Isolation("root", overlay=True))
        command: Command = dialect.command(spec, replace(place, root=root))
        return command


def _paths(command: Command) -> list[str]:
    moved = [fetch.to for fetch in command.fetch] + [push.path for push in command.push]
    looked_at = [item.path for item in command.install] + list(command.sys_path)
    return [*moved, *looked_at, *command.folders, *command.files, command.cwd]
