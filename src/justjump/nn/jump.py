"""What follows or joins the layers: jumping knowledge, skip connections, gated updates."""

from typing import TYPE_CHECKING, get_args

from torch import Tensor, nn

from justjump.nn.config import Jump, Norm, Update

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


class ResidualUpdate(nn.Module):
    r""":math:`h^{(t)} \leftarrow h^{(t)} + h^{(t-1)}` (He et al., 2016)

    >>> import torch
    >>> ResidualUpdate()(torch.ones(1, 2), torch.ones(1, 2))
    tensor([[2., 2.]])
    """

    def forward(self, former: Tensor, new: Tensor) -> Tensor:
        return new + former


class InitialUpdate(nn.Module):
    r""":math:`h^{(t)} \leftarrow (1 - \alpha) h^{(t)} + \alpha h^{(0)}`, as in GCNII (Chen et al., 2020)

    >>> import torch
    >>> InitialUpdate(0.25)(torch.zeros(1, 2), torch.ones(1, 2))
    tensor([[0.7500, 0.7500]])
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, first: Tensor, new: Tensor) -> Tensor:
        return (1 - self.share) * new + self.share * first


def update_module(update: Update, channels: int, initial_share: float = 0.1) -> nn.Module | None:
    """The module that merges a former representation with a layer's output, or None."""
    if update == "none":
        return None
    if update == "residual":
        return ResidualUpdate()
    if update == "initial":
        return InitialUpdate(initial_share)
    if update == "skip":
        return SkipUpdate(channels)
    if update == "gru":
        return GRUUpdate(channels)
    raise ValueError(f"update={update!r} is unknown: choose one of {', '.join(get_args(Update))}")


def norm_module(norm: Norm, channels: int) -> nn.Module | None:
    """The normalisation of representations ``[N, channels]``, or None."""
    if norm == "none":
        return None
    return nn.LayerNorm(channels) if norm == "layer" else nn.BatchNorm1d(channels)
