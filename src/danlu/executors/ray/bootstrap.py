"""The actor as Ray carries it to a node: by its code, so that it runs where Danlu is another one.

It looks whether its node is of the same versions as the server, and only then hands over to
``holder.Holder``, which is imported there.
"""

import sys
from typing import Any

import danlu


def own_versions() -> dict[str, str]:
    return {
        "Danlu": danlu.__version__,
        "Python": ".".join(str(part) for part in sys.version_info[:2]),
    }


def holder_class() -> type:
    """Return the class; made here, so that Ray sends its code and not its name."""

    class DanluHolder:
        def __init__(self, expected: dict[str, str], job_id: str, task: str, home: str) -> None:
            self._wrong = self._differences(expected)
            if not self._wrong:
                from danlu.executors.ray.holder import Holder

                self._holder = Holder(job_id, task, home)

        def ask(self, name: str, arguments: dict[str, Any]) -> Any:
            if self._wrong:
                return {"wrong": self._wrong}
            return getattr(self._holder, name)(**arguments)

        @staticmethod
        def _differences(expected: dict[str, str]) -> list[str]:
            import sys

            found = {"Python": ".".join(str(part) for part in sys.version_info[:2])}
            try:
                import danlu

                found["Danlu"] = danlu.__version__
            except ImportError:
                found["Danlu"] = "none"
            return [
                f"{name} {found[name]}, not {wanted}"
                for name, wanted in expected.items()
                if found[name] != wanted
            ]

    return DanluHolder
