"""Do two versions of justjump train the same weights, to the last bit?

Trains the demo's networks and one cell of Table 1 per dataset to the end, and every cell for a few epochs, and writes
the SHA-256 of each network's weights. Run it in both versions with the same JUSTJUMP_DATA, then compare the files:

    python scripts/weight_digests.py before.json
    python scripts/weight_digests.py after.json --compare before.json
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

from justjump.data import is_available, load
from justjump.experiments import paper
from justjump.train import Protocol, Run, fit

FEW_EPOCHS = 4
WHOLE = {
    "cora": ("dna-g16", "gcn-none"),  # the demo
    "citeseer": ("dna-g8",),
    "pubmed": ("dna-g16",),
    "coauthor_cs": ("gat-concat",),
    "coauthor_physics": ("dna-g16",),
    "amazon_computers": ("dna-g1",),
    "amazon_photo": ("dna-g8",),
}


def digest(run: Run) -> str:
    """SHA-256 over the names and bytes of all weights."""
    sha = hashlib.sha256()
    for name, weight in sorted(run.model.state_dict().items()):
        sha.update(name.encode())
        sha.update(weight.numpy().tobytes())
    return sha.hexdigest()


def digests() -> dict[str, str]:
    found = {}
    for dataset, whole in WHOLE.items():
        if not is_available(dataset):
            sys.exit(f"{dataset} is not at hand: set JUSTJUMP_DATA")
        graph = load(dataset)
        for model in paper.MODELS:
            config = paper.published(model, dataset)
            run = fit(graph, config, Protocol(max_epochs=FEW_EPOCHS))
            found[f"{dataset} {model}, {FEW_EPOCHS} epochs"] = digest(run)
            if model in whole:
                run = fit(graph, config, Protocol())
                found[f"{dataset} {model}, {run.epochs} epochs, test {run.test_accuracy:.4f}"] = digest(run)
        print(f"{dataset}: {len(found)} networks so far", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--compare", type=Path, help="digests of the other version")
    options = parser.parse_args()
    found = digests()
    options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if options.compare is None:
        return
    other = json.loads(options.compare.read_text(encoding="utf-8"))
    different = [name for name in other if found.get(name) != other[name]]
    print(f"{len(other) - len(different)} of {len(other)} networks have the same weights")
    for name in different:
        print(f"  differs: {name}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
