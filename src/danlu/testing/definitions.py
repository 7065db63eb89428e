"""What every record store must do with definitions; used by ``RecordsContract``."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from danlu.errors import NotFound
from danlu.records.api import Records


class DefinitionsContract:
    """Its ``reopen`` is that of ``RecordsContract``."""

    def test_a_definition_has_numbered_versions(self, records: Records) -> None:
        first = records.define("algorithm", "mnist", {"code": "a"}, 1.0)
        second = records.define("algorithm", "mnist", {"code": "b"}, 2.0)

        assert (first.version, second.version) == (1, 2)
        assert records.definition("algorithm", "mnist") == second
        assert records.definition("algorithm", "mnist", 1) == first
        assert records.definitions("algorithm", "mnist") == (second, first)

    def test_a_repeated_definition_is_the_newest_version(self, records: Records) -> None:
        first = records.define("algorithm", "mnist", {"code": "a", "inputs": []}, 1.0)

        assert records.define("algorithm", "mnist", {"inputs": [], "code": "a"}, 5.0) == first
        records.define("algorithm", "mnist", {"code": "b"}, 6.0)
        back = records.define("algorithm", "mnist", {"code": "a", "inputs": []}, 7.0)
        assert back.version == 3

    def test_kinds_of_definitions_are_apart(self, records: Records) -> None:
        algorithm = records.define("algorithm", "mnist", {"code": "a"}, 1.0)
        dataset = records.define("dataset", "mnist", {"uri": "u"}, 1.0)

        assert dataset.version == 1
        assert records.definitions("algorithm") == (algorithm,)
        records.undefine("algorithm", "mnist")
        assert records.definition("dataset", "mnist") == dataset

    def test_definitions_are_listed_by_name_with_their_newest_version(
        self, records: Records, reopen: Callable[[Records], Records]
    ) -> None:
        for uri, name in enumerate(("b", "a", "b")):
            records.define("dataset", name, {"uri": str(uri)}, 1.0)

        again = reopen(records)

        assert [(d.name, d.version) for d in again.definitions("dataset")] == [("a", 1), ("b", 2)]
        assert again.definitions("dataset", "c") == ()

    def test_the_number_of_a_removed_version_is_not_given_again(self, records: Records) -> None:
        for code in "abc":
            records.define("algorithm", "mnist", {"code": code}, 1.0)

        records.undefine("algorithm", "mnist", 3)

        assert records.definition("algorithm", "mnist").version == 2
        assert records.define("algorithm", "mnist", {"code": "c"}, 1.0).version == 4
        records.undefine("algorithm", "mnist")
        assert records.definitions("algorithm") == ()
        assert records.define("algorithm", "mnist", {"code": "c"}, 1.0).version == 5

    def test_a_definition_that_is_not_there_offers_what_is(self, records: Records) -> None:
        records.define("dataset", "mnist", {"uri": "a"}, 1.0)
        records.define("dataset", "mnist", {"uri": "b"}, 1.0)

        for look in (records.definition, records.undefine):
            with pytest.raises(NotFound, match="no data set named 'mnits'") as caught:
                look("dataset", "mnits")
            assert caught.value.hint == "Did you mean 'mnist'?"
            with pytest.raises(NotFound, match="no data set named 'mnist:9'") as caught:
                look("dataset", "mnist", 9)
            assert caught.value.hint == "Its versions: 1, 2."
            with pytest.raises(NotFound):
                look("dataset", "\udce4")

    def test_of_threads_that_define_one_name_each_gets_a_number(self, records: Records) -> None:
        together = threading.Barrier(4)

        def define(index: int) -> int:
            together.wait()
            return records.define("dataset", "mnist", {"uri": str(index)}, 1.0).version

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(define, range(4))) == [1, 2, 3, 4]
