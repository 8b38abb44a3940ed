"""Predict missing links of Cora: DNA encodes the nodes, the dot product of two nodes scores a link."""

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.transforms import RandomLinkSplit
from torch_geometric.utils import negative_sampling

import justjump
from justjump.nn import DNA


def score(h: Tensor, pairs: Tensor) -> Tensor:
    """``[N, d], [2, P] -> [P]``"""
    return (h[pairs[0]] * h[pairs[1]]).sum(1)


def main(epochs: int = 40) -> float:
    """Train with 85 % of the links; the area under the ROC curve of 10 % others among as many pairs without a link."""
    torch.manual_seed(0)
    data = justjump.load("cora").to_pyg()
    data.x = data.x.to_dense()
    split = RandomLinkSplit(0.05, 0.10, is_undirected=True, add_negative_train_samples=False)
    train, _, test = split(data)

    model = DNA(data.num_features, hidden_channels=64, num_layers=2, heads=4, groups=8, dropout=0.3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    links = train.edge_label_index  # what the loss asks for; the layers see train.edge_index
    for _ in range(epochs):
        model.train()
        others = negative_sampling(train.edge_index, data.num_nodes, links.size(1))
        pairs = torch.cat([links, others], 1)
        is_link = torch.cat([torch.ones(links.size(1)), torch.zeros(others.size(1))])
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(score(model(train.x, train.edge_index), pairs), is_link).backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        scores = score(model(test.x, test.edge_index), test.edge_label_index)
    return float(roc_auc_score(test.edge_label.numpy(), scores.numpy()))


if __name__ == "__main__":
    print(f"area under the curve of the test links {main():.3f}")
