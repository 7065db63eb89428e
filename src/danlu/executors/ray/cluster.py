"""What the driver does with Ray: groups, holders, nodes. Everything is found again by its name.

A job is a detached placement group, ``<scope>/<job>``, and a detached actor for each task,
``<job>/<task>``, in a namespace of the same scope: two servers that keep their jobs in different
stores do not see each other's.
"""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

import ray
from ray._private.state import available_resources_per_node
from ray.exceptions import GetTimeoutError, RayActorError, RayError
from ray.util import get_placement_group, list_named_actors
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from danlu.errors import ExecutorError
from danlu.executors.ray.bootstrap import holder_class, own_versions
from danlu.executors.ray.fitting import fits
from danlu.executors.ray.joining import join
from danlu.executors.ray.words import GONE, PENDING, READY, STARTING, UNKNOWN

log = logging.getLogger("danlu.ray")

_ASK = 3.0  # seconds for a holder to answer what it knows
_PLACING = 10.0  # seconds for a group there is room for


class Cluster:
    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._handles: dict[str, Any] = {}
        self._holder = ray.remote(holder_class())
        self._lock = threading.Lock()

    def connect(self, address: str) -> int:
        """Join the cluster; return how many nodes it has.

        Raises:
            Unavailable: with the reason as a sentence.
        """
        join(address, self._scope)
        self._drop_pending()
        return len(self.nodes())

    def nodes(self) -> list[dict[str, Any]]:
        """Return address and room of every living node."""
        found = []
        for node in ray.nodes():
            if node["Alive"]:
                room = node["Resources"]
                found.append(
                    {
                        "host": node["NodeManagerAddress"],
                        "cpus": room.get("CPU", 0.0),
                        "memory": int(room.get("memory", 0)),
                        "gpus": int(room.get("GPU", 0)),
                    }
                )
        return sorted(found, key=lambda node: str(node["host"]))

    def reserve(
        self,
        job_id: str,
        tasks: Sequence[str],
        bundles: Sequence[dict[str, float]],
        home: str,
        isolated: bool,
        room: float,
        patience: float,
    ) -> dict[str, Any]:
        """Hold room for all tasks or for none, with a holder in each place of it.

        Waits ``room`` seconds for room, ``patience`` for holders; asked again it goes on. What
        does not get its room now leaves no group that could take it later, unasked.
        """
        group = self._group(job_id, bundles, room)
        if group is None:
            return {"state": PENDING}
        with self._lock:
            holders = [
                self._hold(group, index, job_id, task, bundle, home)
                for index, (task, bundle) in enumerate(zip(tasks, bundles, strict=True))
            ]
        asked = [holder.ask.remote("hello", {"isolated": isolated}) for holder in holders]
        _, late = ray.wait(asked, num_returns=len(asked), timeout=patience)
        if late:
            return {"state": STARTING}
        try:
            places = ray.get(asked)
        except RayActorError as error:
            log.warning("holder lost job=%s error=%s", job_id, meaning_of(error))
            self.release(job_id)
            return {"state": PENDING}
        wrong = sorted({sentence for place in places for sentence in place.get("wrong", ())})
        if wrong:
            self.release(job_id)
            raise ExecutorError(
                f"A node of the cluster has {', '.join(wrong)}.",
                hint="Every node needs the versions of the server: "
                + ", ".join(f"{name} {value}" for name, value in own_versions().items()),
            )
        return {"state": READY, "places": places}

    def begin(self, job_id: str, tasks: dict[str, tuple[int, str]]) -> dict[str, str]:
        """Let the holders start their agents, all together: attempt and handover by task."""
        return self._ask_all(
            job_id,
            {
                task: ("begin", {"attempt": attempt, "handover": handover})
                for task, (attempt, handover) in tasks.items()
            },
        )

    def states(self, job_id: str, tasks: dict[str, int]) -> dict[str, str]:
        """Return what the holders say of the attempt of each task."""
        return self._ask_all(
            job_id, {task: ("state", {"attempt": attempt}) for task, attempt in tasks.items()}
        )

    def signal(self, job_id: str, task: str, attempt: int, number: int) -> str:
        arguments = {"attempt": attempt, "number": number}
        return str(self._ask_all(job_id, {task: ("signal", arguments)})[task])

    def finish(self, job_id: str, task: str, attempt: int, cgroup: str, kill: bool) -> bool:
        """End what is left of a task; True when nothing is, be it that its node is gone."""
        arguments = {"attempt": attempt, "cgroup": cgroup, "kill": kill}
        return self._ask_all(job_id, {task: ("finish", arguments)})[task] in (True, GONE)

    def release(self, job_id: str) -> None:
        """Give the room of a job back; its holders go, and with them what they hold."""
        begin = f"{job_id}/"
        for name in list_named_actors():
            if isinstance(name, str) and name.startswith(begin):
                handle = self._handle(name)
                if handle is not None:
                    ray.kill(handle, no_restart=True)
        for name in [name for name in self._handles if name.startswith(begin)]:
            del self._handles[name]
        group = self._find(job_id)
        if group is not None:
            remove_placement_group(group)

    def held(self) -> list[str]:
        """Return the jobs that hold room; one that waits for it does not."""
        return sorted(job_id for job_id, state in self._groups() if state != "PENDING")

    def _groups(self) -> list[tuple[str, str]]:
        begin = f"{self._scope}/"
        return [
            (row["name"][len(begin) :], row["state"])
            for row in placement_group_table().values()
            if row["name"].startswith(begin) and row["state"] != "REMOVED"
        ]

    def _drop_pending(self) -> None:
        """Take back what a driver before us asked for and did not get: its job asks again."""
        for job_id, state in self._groups():
            if state == "PENDING":
                self.release(job_id)

    def _find(self, job_id: str) -> PlacementGroup | None:
        try:
            return get_placement_group(f"{self._scope}/{job_id}")
        except ValueError:
            return None

    def _group(
        self, job_id: str, bundles: Sequence[dict[str, float]], room: float
    ) -> PlacementGroup | None:
        group = self._find(job_id)
        if group is not None and not _same(group.bundle_specs, bundles):
            remove_placement_group(group)
            group = None
        if group is None:
            if not self._wait_for_room(bundles, room):
                return None
            group = placement_group(
                [dict(bundle) for bundle in bundles],
                strategy="SPREAD",  # people say how many nodes they want, and mean machines
                name=f"{self._scope}/{job_id}",
                lifetime="detached",
            )
        if group.wait(_PLACING):
            return group
        remove_placement_group(group)
        return None

    @staticmethod
    def _wait_for_room(bundles: Sequence[dict[str, float]], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not fits(bundles, list(available_resources_per_node().values())):
            if time.monotonic() >= until:
                return False
            time.sleep(0.1)
        return True

    def _hold(
        self,
        group: PlacementGroup,
        index: int,
        job_id: str,
        task: str,
        bundle: dict[str, float],
        home: str,
    ) -> Any:
        name = f"{job_id}/{task}"
        if name not in self._handles:
            others = {key: value for key, value in bundle.items() if key not in _OWN_OPTIONS}
            self._handles[name] = self._holder.options(
                name=name,
                namespace=self._scope,
                lifetime="detached",
                get_if_exists=True,
                max_restarts=0,
                num_cpus=bundle.get("CPU", 0),
                num_gpus=bundle.get("GPU", 0),
                memory=int(bundle.get("memory", 0)) or None,
                resources=others or None,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    group, placement_group_bundle_index=index
                ),
            ).remote(own_versions(), job_id, task, home)
        return self._handles[name]

    def _ask_all(self, job_id: str, calls: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
        asked = {}
        for task, (name, arguments) in calls.items():
            handle = self._handle(f"{job_id}/{task}")
            asked[task] = None if handle is None else handle.ask.remote(name, arguments)
        there = [reference for reference in asked.values() if reference is not None]
        if there:
            ray.wait(there, num_returns=len(there), timeout=_ASK)
        return {
            task: self._answer(f"{job_id}/{task}", reference) for task, reference in asked.items()
        }

    def _answer(self, name: str, reference: Any) -> Any:
        if reference is None:
            return GONE
        try:
            return ray.get(reference, timeout=0)
        except GetTimeoutError:
            return UNKNOWN
        except RayActorError:
            self._handles.pop(name, None)
            return GONE

    def _handle(self, name: str) -> Any:
        if name not in self._handles:
            try:
                self._handles[name] = ray.get_actor(name, namespace=self._scope)
            except ValueError:
                return None
        return self._handles[name]


_OWN_OPTIONS = ("CPU", "GPU", "memory")


def meaning_of(error: Exception) -> str:
    """Return what Ray says, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = lines[-1] if isinstance(error, RayError) and lines else " ".join(lines)
    return f"Ray: {told[:500] or type(error).__name__}"


def _same(one: Sequence[dict[str, float]], other: Sequence[dict[str, float]]) -> bool:
    def plain(bundles: Sequence[dict[str, float]]) -> list[dict[str, float]]:
        return [{key: float(value) for key, value in b.items() if value} for b in bundles]

    return plain(one) == plain(other)
