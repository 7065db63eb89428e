"""The actor class that Ray sends to a node by its code, so it runs with any Danlu version there.

The actor checks that its node has the same versions as the server. Only then it imports
``agent_actor.AgentActor`` on the node and delegates to it.
"""

import sys
from typing import Any

import danlu
from danlu.messages import get_message


def own_versions() -> dict[str, str]:
    return {
        "Danlu": danlu.__version__,
        "Python": ".".join(str(part) for part in sys.version_info[:2]),
    }


def holder_class() -> type:
    """Return the actor class. A local class makes Ray send its code, not its name."""

    class DanluHolder:
        def __init__(self, expected: dict[str, str], job_id: str, task: str, home: str) -> None:
            self._wrong = self._differences(expected)
            if not self._wrong:
                from danlu.executors.ray.agent_actor import AgentActor

                self._holder = AgentActor(job_id, task, home)

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
                get_message("ray.wrong_version", name=name, found=found[name], wanted=wanted)
                for name, wanted in expected.items()
                if found[name] != wanted
            ]

    return DanluHolder
