"""The device that a run computes on."""

from __future__ import annotations

import torch


def checked_device(device: str | torch.device | None) -> torch.device:
    """A device that can train, the CPU by default; ValueError if this torch does not have it.

    >>> checked_device("cpu")
    device(type='cpu')
    """
    if device is None:
        return torch.device("cpu")
    try:
        found = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device={device!r} is unknown: choose cpu, cuda, cuda:0, mps, ...") from None
    if found.type == "meta":
        raise ValueError("device='meta' has shapes and no numbers: call the network itself on it, there is no training")
    try:
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"device={str(found)!r} cannot be used here ({reason}): use cpu, or install a torch that has it"
        ) from None
    return found
