"""The operations of the driver on Ray: placement groups, agent actors and nodes, found by name.

A job is a detached placement group, ``<scope>/<job>``, and a detached actor for each task,
``<job>/<task>``, in a namespace of the same scope. Servers that store their jobs in different
object stores do not see each other's jobs.
"""

import logging
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import ray
from ray._private.state import available_resources_per_node
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError, GetTimeoutError, RayActorError, RayError
from ray.util import get_placement_group, list_named_actors
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from danlu.errors import ExecutorError, Unavailable
from danlu.executors.ray.access import GONE, PENDING, READY, STARTING, UNKNOWN
from danlu.executors.ray.bootstrap import holder_class, own_versions
from danlu.executors.ray.placement import fits

log = logging.getLogger("danlu.ray")

_KNOCK = 5.0


def join(address: str, namespace: str) -> None:
    """Make this process a driver of the cluster with its head at ``address``.

    Raises:
        Unavailable: the cluster cannot be joined; the message gives the reason.
    """
    host = _knock(address)
    # Ray takes the address of the route to the internet, but a machine may have several addresses.
    own = {"_node_ip_address": host} if _is_here(host) else {}
    try:
        ray.init(
            address=address,
            namespace=namespace,
            log_to_driver=False,
            configure_logging=False,
            **own,
        )
    except Exception as error:
        log.exception("join address=%s", address)
        text = " ".join(str(error).split())[:400]
        if "version mismatch" in text.lower():
            raise Unavailable.from_key("ray.version_mismatch", address=address, text=text) from None
        raise Unavailable.from_key("ray.cannot_join", address=address, text=text) from None


def _knock(address: str) -> str:
    """Check that a Ray head answers and return its host.

    Ray itself would retry for minutes and not report the reason.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise Unavailable.from_key("ray.bad_address", address=address)
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK).close()
    except OSError as error:
        raise Unavailable.from_key("ray.no_head", address=address, error=error) from None
    try:
        GcsClient(address=address)
    except AuthenticationError:
        raise Unavailable.from_key("ray.wrong_token", address=address) from None
    except Exception as error:
        text = " ".join(str(error).split())[:400]
        raise Unavailable.from_key("ray.not_a_head", address=address, text=text) from None
    return host


def _is_here(host: str) -> bool:
    """Return True if the address belongs to this machine. Then its raylet runs here too."""
    try:
        with socket.socket() as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


_ASK = 3.0  # seconds for an agent actor to answer
_PLACING = 10.0  # seconds to create a placement group that fits


class Cluster:
    """The jobs of one scope on a Ray cluster."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._handles: dict[str, Any] = {}
        self._holder = ray.remote(holder_class())
        self._lock = threading.Lock()

    def connect(self, address: str) -> int:
        """Join the cluster and return the number of its nodes.

        Raises:
            Unavailable: the cluster cannot be joined; the message gives the reason.
        """
        join(address, self._scope)
        self._drop_pending()
        return len(self.nodes())

    def nodes(self) -> list[dict[str, Any]]:
        """Return the address and the capacity of every alive node."""
        found = []
        for node in ray.nodes():
            if node["Alive"]:
                resources = node["Resources"]
                found.append(
                    {
                        "host": node["NodeManagerAddress"],
                        "cpus": resources.get("CPU", 0.0),
                        "memory": int(resources.get("memory", 0)),
                        "gpus": int(resources.get("GPU", 0)),
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
        capacity_timeout: float,
        timeout: float,
    ) -> dict[str, Any]:
        """Reserve capacity for all tasks or for none, and start an agent actor in each bundle.

        Waits ``capacity_timeout`` seconds for capacity and ``timeout`` seconds for the actors. A
        repeated call continues the first. Without enough capacity no pending placement group is
        left, which could take capacity later without a request.
        """
        group = self._group(job_id, bundles, capacity_timeout)
        if group is None:
            return {"state": PENDING}
        with self._lock:
            holders = [
                self._hold(group, index, job_id, task, bundle, home)
                for index, (task, bundle) in enumerate(zip(tasks, bundles, strict=True))
            ]
        asked = [holder.ask.remote("hello", {"isolated": isolated}) for holder in holders]
        _, late = ray.wait(asked, num_returns=len(asked), timeout=timeout)
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
            versions = ", ".join(f"{name} {value}" for name, value in own_versions().items())
            raise ExecutorError.from_key(
                "ray.node_versions", wrong=", ".join(wrong), versions=versions
            )
        return {"state": READY, "places": places}

    def begin(self, job_id: str, tasks: dict[str, tuple[int, str]]) -> dict[str, str]:
        """Let the agent actors start their agents in parallel.

        ``tasks`` holds attempt and handover by task.
        """
        return self._ask_all(
            job_id,
            {
                task: ("begin", {"attempt": attempt, "handover": handover})
                for task, (attempt, handover) in tasks.items()
            },
        )

    def states(self, job_id: str, tasks: dict[str, int]) -> dict[str, str]:
        """Return the state of each task's attempt from its agent actor."""
        return self._ask_all(
            job_id, {task: ("state", {"attempt": attempt}) for task, attempt in tasks.items()}
        )

    def signal(self, job_id: str, task: str, attempt: int, number: int) -> str:
        arguments = {"attempt": attempt, "number": number}
        return str(self._ask_all(job_id, {task: ("signal", arguments)})[task])

    def finish(self, job_id: str, task: str, attempt: int, cgroup: str, kill: bool) -> bool:
        """End the rest of a task; return True if no process is left or the node is gone."""
        arguments = {"attempt": attempt, "cgroup": cgroup, "kill": kill}
        return self._ask_all(job_id, {task: ("finish", arguments)})[task] in (True, GONE)

    def release(self, job_id: str) -> None:
        """Release the reservation of a job. Kills its agent actors, and the agents with them."""
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
        """Return the jobs that have a reservation, without those that wait for one."""
        return sorted(job_id for job_id, state in self._groups() if state != "PENDING")

    def _groups(self) -> list[tuple[str, str]]:
        begin = f"{self._scope}/"
        return [
            (row["name"][len(begin) :], row["state"])
            for row in placement_group_table().values()
            if row["name"].startswith(begin) and row["state"] != "REMOVED"
        ]

    def _drop_pending(self) -> None:
        """Remove the pending placement groups of an earlier driver. Their jobs ask again."""
        for job_id, state in self._groups():
            if state == "PENDING":
                self.release(job_id)

    def _find(self, job_id: str) -> PlacementGroup | None:
        try:
            return get_placement_group(f"{self._scope}/{job_id}")
        except ValueError:
            return None

    def _group(
        self, job_id: str, bundles: Sequence[dict[str, float]], capacity_timeout: float
    ) -> PlacementGroup | None:
        group = self._find(job_id)
        if group is not None and not _same(group.bundle_specs, bundles):
            remove_placement_group(group)
            group = None
        if group is None:
            if not self._wait_for_capacity(bundles, capacity_timeout):
                return None
            group = placement_group(
                [dict(bundle) for bundle in bundles],
                strategy="SPREAD",  # users mean machines when they ask for nodes
                name=f"{self._scope}/{job_id}",
                lifetime="detached",
            )
        if group.wait(_PLACING):
            return group
        remove_placement_group(group)
        return None

    @staticmethod
    def _wait_for_capacity(bundles: Sequence[dict[str, float]], seconds: float) -> bool:
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
    """Return the error message of Ray in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if isinstance(error, RayError) and lines else " ".join(lines)
    return f"Ray: {text[:500] or type(error).__name__}"


def _same(one: Sequence[dict[str, float]], other: Sequence[dict[str, float]]) -> bool:
    def plain(bundles: Sequence[dict[str, float]]) -> list[dict[str, float]]:
        return [{key: float(value) for key, value in b.items() if value} for b in bundles]

    return plain(one) == plain(other)
