"""``mox.cache``: scripts called it so that checkpoints went through a local disk."""


def cache() -> None:
    """Do nothing: what is written to an object store always goes through a local file here."""
