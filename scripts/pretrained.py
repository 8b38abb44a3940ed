"""Train the recommended network on each of the paper's datasets that are at hand, and save the weights.

    python scripts/pretrained.py weights
    python scripts/pretrained.py weights --dataset cora citeseer --data-dir DATA

Each dataset gets a folder with the run, its weights and a model card, which ``Run.from_pretrained`` and ``justjump
predict`` read. A dataset whose folder is complete is not trained again, and one that was stopped goes on.
"""

import argparse
from pathlib import Path

from justjump.data import NAMES, DataError, load
from justjump.train import fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="folder for the folders of the datasets")
    parser.add_argument("--dataset", nargs="+", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--data-dir", help="folder with raw dataset files")
    parser.add_argument("--seed", type=int, default=0, help="of the split and of the initialisation")
    options = parser.parse_args()
    for name in options.dataset:
        try:
            graph = load(name, data_dir=options.data_dir)
        except DataError as error:
            print(f"{name}: not trained: {error}")
            continue
        folder = options.output / name
        run = fit(graph, seed=options.seed, output=folder)
        run.save_pretrained(folder)
        print(f"{name}: test accuracy {100 * (run.test_accuracy or 0):.2f}, in {folder}")


if __name__ == "__main__":
    main()
