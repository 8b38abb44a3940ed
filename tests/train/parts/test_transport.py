"""A group of one process: what gloo does with more is in test_workers.py."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from justjump.train.parts.transport import Alone, Processes, Transport


@pytest.fixture(params=["alone", "gloo"])
def transport(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Transport]:
    if request.param == "alone":
        yield Alone()
        return
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", f"file://{tmp_path / 'meeting'}", timedelta(seconds=60), world_size=1, rank=0)
    yield Processes()
    dist.destroy_process_group()


def test_a_worker_among_itself(transport: Transport) -> None:
    assert (transport.rank, transport.world) == (0, 1)
    rows = torch.randn(3, 2)
    assert torch.equal(transport.exchange([rows], [3])()[0], rows)
    assert torch.equal(transport.gather(rows, [3])[0], rows)
    assert transport.any(True)
    assert not transport.any(False)
    transport.meet()
    assert transport.bytes_sent == 0
