"""Commands without the seconds that imports take: one process does them once and forks for each command.

A command runs as ``python -m justjump`` does, with its own arguments, folder, output and exit code.
"""

import gc
import json
import os
import runpy
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

IMPORTS = ("justjump.cli", "justjump.train.loop", "justjump.experiments.execute", "sklearn.metrics", "torch._dynamo")
LARGEST = 2**16  # bytes of a command


def run_forked(arguments: list[str], cwd: str | Path | None = None) -> subprocess.CompletedProcess[str]:
    """What ``python -m justjump`` prints with these arguments, and its exit code."""
    (server, _), pipes = _server(), [os.pipe(), os.pipe()]
    socket.send_fds(server, [json.dumps([str(cwd or Path.cwd()), *arguments]).encode()], [end for _, end in pipes])
    for _, end in pipes:
        os.close(end)
    with ThreadPoolExecutor(2) as readers:
        out, errors = readers.map(_read, [begin for begin, _ in pipes])
    return subprocess.CompletedProcess(arguments, int(server.recv(LARGEST)), out, errors)


def _read(pipe: int) -> str:
    with open(pipe, encoding="utf-8") as file:
        return file.read()


@cache
def _server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The way to a process that ends when this one does, and the process."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()])
    there.close()
    return here, process


def _serve(asks: socket.socket) -> list[str]:
    """Fork for each command. Returns in the child alone, with its output in place."""
    for name in IMPORTS:
        __import__(name)
    gc.freeze()  # so that no child looks through what was imported
    while True:
        asked, outputs, *_ = socket.recv_fds(asks, LARGEST, 2)
        if not asked:
            sys.exit()
        if (pid := os.fork()) == 0:
            asks.close()
            for number, end in enumerate(outputs, start=1):
                os.dup2(end, number)
                os.close(end)
            return list(json.loads(asked))
        for end in outputs:
            os.close(end)
        asks.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _become(cwd: str, *arguments: str) -> None:
    """Be the command. What ends it ends this process, as it would any other."""
    os.chdir(cwd)
    sys.argv[1:] = arguments
    runpy.run_module("justjump", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
