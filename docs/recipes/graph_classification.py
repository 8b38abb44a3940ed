"""Classify whole graphs: batches of PyG's DataLoader, DNA for the nodes, a mean over the nodes of each graph."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import global_mean_pool
from torch_geometric.utils import to_undirected

from justjump.nn import DNA

COLOURS = 4


def random_graph(seed: int) -> Data:
    """Ten to twenty nodes in four colours. In class 1, two thirds of the edges join nodes of one colour."""
    random = torch.Generator().manual_seed(seed)
    label = seed % 2
    colour = torch.randint(COLOURS, (int(torch.randint(10, 21, (1,), generator=random)),), generator=random)
    edges = torch.randint(len(colour), (2, 200), generator=random)
    same = (colour[edges[0]] == colour[edges[1]]) & (edges[0] != edges[1])
    inside, across = edges[:, same], edges[:, ~same & (edges[0] != edges[1])]
    few, many = (inside, across) if label == 0 else (across, inside)
    edge_index = to_undirected(torch.cat([few[:, :8], many[:, :16]], 1), num_nodes=len(colour))
    return Data(x=F.one_hot(colour, COLOURS).float(), edge_index=edge_index, y=torch.tensor([label]))


class GraphClassifier(nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.dna = DNA(features, hidden_channels=32, num_layers=3, heads=4, groups=8, norm="batch_norm", jk="cat")
        self.lin = nn.Linear(32, classes)

    def forward(self, batch: Data) -> Tensor:
        h = self.dna(batch.x, batch.edge_index, batch=batch.batch, batch_size=batch.num_graphs)
        return self.lin(global_mean_pool(h, batch.batch, batch.num_graphs))  # [graphs, classes]


def accuracy(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    with torch.no_grad():
        right = [(model(batch).argmax(1) == batch.y).float() for batch in loader]
    return torch.cat(right).mean().item()


def main(epochs: int = 12) -> float:
    """Train on 300 graphs; the accuracy on 200 others."""
    torch.manual_seed(0)
    train = DataLoader([random_graph(seed) for seed in range(300)], batch_size=32, shuffle=True)
    test = DataLoader([random_graph(seed) for seed in range(300, 500)], batch_size=100)
    model = GraphClassifier(COLOURS, classes=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        model.train()
        for batch in train:
            optimizer.zero_grad()
            F.cross_entropy(model(batch), batch.y).backward()
            optimizer.step()
    return accuracy(model, test)


if __name__ == "__main__":
    print(f"test accuracy {main():.3f}")
