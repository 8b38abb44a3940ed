"""Train with Lightning: the network is a part of a LightningModule as any other module is."""

import lightning
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch_geometric.data import Data

import justjump
from justjump.data import random_split
from justjump.nn import DNA


class NodeModule(lightning.LightningModule):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.dna = DNA(features, hidden_channels=64, num_layers=2, out_channels=classes, heads=8, groups=8, dropout=0.5)

    def training_step(self, data: Data) -> Tensor:
        logits = self.dna(data.x, data.edge_index)
        return F.cross_entropy(logits[data.train], data.y[data.train])

    def test_step(self, data: Data) -> None:
        right = self.dna(data.x, data.edge_index).argmax(1) == data.y
        self.log("test_accuracy", right[data.test].float().mean(), batch_size=1)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01, weight_decay=0.0005)


def main(epochs: int = 30) -> float:
    """Train on one split of Cora; the accuracy on its test nodes."""
    lightning.seed_everything(0, verbose=False)
    cora = justjump.load("cora")
    split, data = random_split(cora.labels, seed=0), cora.to_pyg()
    data.x, data.train, data.test = data.x.to_dense(), torch.from_numpy(split.train), torch.from_numpy(split.test)
    whole_graph = DataLoader([data], batch_size=None)  # one batch per epoch: the graph

    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = NodeModule(cora.num_features, cora.num_classes)
    trainer.fit(model, whole_graph)
    return trainer.test(model, whole_graph, verbose=False)[0]["test_accuracy"]


if __name__ == "__main__":
    print(f"test accuracy {main():.3f}")
