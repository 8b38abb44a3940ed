"""What is installed, and which kernels run."""

import json
import os

import pytest

from command_line import justjump
from justjump.info import info
from justjump.ops import native


def test_facts_as_json_and_as_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUSTJUMP_DATA", raising=False)
    info(as_json=True)
    facts = json.loads(capsys.readouterr().out)
    if native.available():
        assert facts["path"] == "native kernels"
        assert facts["isa"] in facts["isas"]
    assert facts["threads"] == 1
    info(as_json=False)
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if not line.startswith("thr"))
    assert lines["path"] == facts["path"]
    assert lines["data"] == "dir     -"


@pytest.mark.slow
def test_kernels_that_are_switched_off() -> None:
    off = json.loads(justjump("info", "--json", env={**os.environ, "JUSTJUMP_ISA": "none"}).stdout)
    assert off["path"].startswith("PyTorch (JUSTJUMP_ISA=none")
