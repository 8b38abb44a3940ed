"""What a worker process runs from its start. No import of torch: its end with its parent must be sure before that."""

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event as Flag

from justjump.train.orphans import die_with_parent, exit_after_parent


def start_worker(connection: Connection, stop: Flag) -> None:
    """What a worker process runs: it binds its life to that of its parent, and only then imports torch and works."""
    die_with_parent()
    exit_after_parent()
    from justjump.experiments.local import work

    work(connection, stop)
