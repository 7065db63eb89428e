"""Leases as rows: what each operation on them says to the database.

``clock`` is that of the records, one for all servers: theirs may differ. It is read when nobody
can change the rows any more: the wait for others, who take a server for gone meanwhile, counts.
"""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, select

from danlu.job.server import Lease, Right, Server
from danlu.records.schema import agreements, servers

_c = servers.c


Clock = Callable[[], float]


def take(
    connection: Connection, clock: Clock, server: str, seconds: float, about: Mapping[str, str]
) -> Lease:
    """The caller's transaction keeps others from taking the same number."""
    last = connection.scalar(select(_c.fence).where(_c.name == server).with_for_update())
    values = {"fence": (last or 0) + 1, "until": clock() + seconds, **about}
    if last is None:
        connection.execute(servers.insert().values(name=server, **values))
    else:
        connection.execute(servers.update().where(_c.name == server).values(**values))
    return Lease(server, (last or 0) + 1)


def renew(connection: Connection, clock: Clock, lease: Lease, seconds: float) -> bool:
    connection.execute(select(_c.fence).where(_c.name == lease.server).with_for_update())
    now = clock()
    held = (_c.name == lease.server) & (_c.fence == lease.fence) & (_c.until > now)
    longer = servers.update().where(held).values(until=now + seconds)
    return bool(connection.execute(longer).rowcount)


def listed(connection: Connection, now: float) -> Sequence[Server]:
    rows = connection.execute(select(servers).order_by(_c.name))
    return tuple(Server(r.name, r.fence, r.until - now, r.host, r.executor, r.url) for r in rows)


def holds(connection: Connection, clock: Clock, right: Right) -> bool:
    """Tell whether a right holds, and keep the leases it depends on as they are until the
    transaction ends."""
    names = [right.lease.server, *filter(None, [right.over])]
    wanted = select(servers).where(_c.name.in_(names)).order_by(_c.name)
    found = {row.name: row for row in connection.execute(wanted.with_for_update(read=True))}
    now = clock()  # after a wait for whoever was changing one
    mine, other = found.get(right.lease.server), found.get(right.over)
    if mine is None or mine.fence != right.lease.fence or mine.until <= now:
        return False
    return other is None or other.until + right.since <= now


def agree(connection: Connection, name: str, value: str) -> str:
    """The caller's transaction keeps others from adding meanwhile."""
    this = agreements.c.name == name
    known = connection.scalar(select(agreements.c.value).where(this))
    if known is None:
        connection.execute(agreements.insert().values(name=name, value=value))
    return value if known is None else known
