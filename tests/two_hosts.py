"""Two hosts on this machine: network namespaces with a cable between them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


def ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


@cache
def may_make_them() -> bool:
    name = f"jj-try-{os.getpid()}"
    if shutil.which("ip") is None:
        return False
    try:
        ip("netns", "add", name)
        ip("-n", name, "link", "add", "name", "left", "type", "veth", "peer", "name", "right")
    except (subprocess.CalledProcessError, OSError):
        return False
    finally:
        ip("netns", "del", name, check=False)
    return True


class Hosts:
    """Two hosts, numbers 0 and 1, with the addresses 10.99.0.1 and 10.99.0.2 on the interface ``wire``."""

    def __init__(self) -> None:
        self.names = [f"jj-{os.getpid()}-{number}" for number in range(2)]

    def on(self, number: int, *command: str) -> "subprocess.Popen[str]":
        """Start a command on a host."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[number], *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "wire", "OMP_NUM_THREADS": "1"},
        )

    def link(self, state: str) -> None:
        """Plug the cable in (``up``) or out (``down``)."""
        ip("-n", self.names[1], "link", "set", "wire", state)


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    hosts = Hosts()
    one, other = hosts.names
    try:
        for name in hosts.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", one, "link", "add", "name", "wire", "type", "veth", "peer", "name", "wire", "netns", other)
        for number, name in enumerate(hosts.names):
            ip("-n", name, "address", "add", f"10.99.0.{number + 1}/24", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "up")
        yield hosts
    finally:
        for name in hosts.names:
            ip("netns", "del", name, check=False)
