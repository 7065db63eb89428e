"""What server, driver and holders call things. None of them needs Ray to say so."""

# A reservation.
PENDING, STARTING, READY = "pending", "starting", "ready"

# A task, as its holder sees it; or its holder, as the driver does.
RUNNING, IDLE, ENDED = "running", "idle", "ended"
GONE, UNKNOWN = "gone", "unknown"
