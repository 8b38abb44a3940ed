"""What follows or joins the layers: jumping knowledge, skip connections, gated updates."""

from typing import TYPE_CHECKING

from torch import Tensor, nn

from justjump.nn.config import Jump, Update

if TYPE_CHECKING:
    from torch_geometric.nn import JumpingKnowledge

_PYG_MODES = {"concat": "cat", "pool": "max", "lstm": "lstm"}


def jumping_knowledge(jump: Jump, channels: int, representations: int) -> "JumpingKnowledge | None":
    r"""How several representations make the final one (Xu et al., 2018).

    concat :math:`h^{(1)} \Vert \ldots \Vert h^{(T)}`, pool :math:`\max_t h^{(t)}`, lstm
    :math:`\sum_t \alpha^{(t)} h^{(t)}` with scores from a bi-directional LSTM; none takes :math:`h^{(T)}`.
    """
    if jump == "none":
        return None
    if jump not in _PYG_MODES:
        raise ValueError(f"jump={jump!r} is unknown: choose 'none', 'concat', 'pool' or 'lstm'")
    from torch_geometric.nn import JumpingKnowledge  # its import takes two seconds

    return JumpingKnowledge(_PYG_MODES[jump], channels, representations)


class SkipUpdate(nn.Module):
    r""":math:`h^{(t)} \leftarrow h^{(t)} + h^{(t-1)} \Theta_s`

    >>> import torch
    >>> SkipUpdate(4)(torch.randn(3, 4), torch.randn(3, 4)).shape
    torch.Size([3, 4])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.lin = nn.Linear(channels, channels, bias=False)

    def forward(self, former: Tensor, new: Tensor) -> Tensor:
        return new + self.lin(former)


class GRUUpdate(nn.Module):
    r""":math:`h^{(t)} \leftarrow \textrm{GRU}(h^{(t-1)}, h^{(t)})`, the former representation being the state

    >>> import torch
    >>> GRUUpdate(4)(torch.randn(3, 4), torch.randn(3, 4)).shape
    torch.Size([3, 4])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(channels, channels)

    def forward(self, former: Tensor, new: Tensor) -> Tensor:
        state: Tensor = self.cell(new, former)
        return state


def update_module(update: Update, channels: int) -> SkipUpdate | GRUUpdate | None:
    """The module that merges a layer's output with its input, or None."""
    if update == "none":
        return None
    if update == "skip":
        return SkipUpdate(channels)
    if update == "gru":
        return GRUUpdate(channels)
    raise ValueError(f"update={update!r} is unknown: choose 'none', 'skip' or 'gru'")
