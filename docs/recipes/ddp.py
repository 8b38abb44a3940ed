"""Train in two processes: DistributedDataParallel averages the gradients of their batches."""

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from graph_classification import COLOURS, random_graph
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_mean_pool

from justjump.nn import DNA

GRAPHS, STEPS, PROCESSES = 64, 5, 2


class GraphClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dna = DNA(COLOURS, hidden_channels=16, num_layers=2, out_channels=2, heads=4, groups=4)

    def forward(self, batch: Data) -> Tensor:
        return global_mean_pool(self.dna(batch.x, batch.edge_index), batch.batch, batch.num_graphs)


def train(seeds: range, is_distributed: bool) -> dict[str, Tensor]:
    """A few steps on the graphs of these seeds; the weights."""
    torch.manual_seed(0)  # the same weights everywhere
    model = GraphClassifier()
    parallel = nn.parallel.DistributedDataParallel(model) if is_distributed else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batch = Batch.from_data_list([random_graph(seed) for seed in seeds])
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.cross_entropy(parallel(batch), batch.y).backward()
        optimizer.step()
    return {name: value.clone() for name, value in model.state_dict().items()}


def process(rank: int, folder: str) -> None:
    """One of the processes, with its share of the graphs."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=Path(folder, "meeting").as_uri(), rank=rank, world_size=PROCESSES)
    weights = train(range(rank, GRAPHS, PROCESSES), is_distributed=True)
    torch.save(weights, Path(folder, f"weights-{rank}.pt"))
    dist.destroy_process_group()


def main() -> tuple[dict[str, Tensor], list[dict[str, Tensor]]]:
    """The weights after training in this process with all graphs, and those of each of two processes."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(process, (folder,), nprocs=PROCESSES)
        shared = [torch.load(Path(folder, f"weights-{rank}.pt"), weights_only=True) for rank in range(PROCESSES)]
    return train(range(GRAPHS), is_distributed=False), shared


if __name__ == "__main__":
    alone, shared = main()
    worst = max((alone[name] - weights[name]).abs().max().item() for weights in shared for name in alone)
    print(f"largest difference between the weights of one process and of two: {worst:.1e}")
