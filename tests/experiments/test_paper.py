"""The numbers of the paper hang together."""

from pathlib import Path

import pytest

from justjump.experiments import paper


def test_every_cell_has_a_figure_and_a_configuration_of_the_grid() -> None:
    assert len(paper.MODELS) == 11
    assert tuple(paper.TABLE1) == paper.MODELS
    for model in paper.MODELS:
        tried = set(paper.grid(model))
        for dataset in paper.DATASETS:
            assert 50 < paper.TABLE1[model][dataset].mean < 100
            assert 0 < paper.TABLE1[model][dataset].std < 2
            assert paper.published(model, dataset) in tried, (model, dataset)


def test_size_of_the_grid() -> None:
    assert sum(len(set(paper.grid(model))) for model in paper.MODELS) == 840


def test_spot_checks() -> None:
    assert paper.TABLE1["dna-g16"]["cora"] == (86.15, 0.57)
    assert paper.TABLE1["gat-lstm"]["amazon_computers"] == (87.26, 1.82)
    assert paper.published("dna-g8", "citeseer").notation == "3/128/8/16"
    assert paper.published("gat-concat", "cora_full").notation == "5/128/8/16"
    assert paper.published("gcn-pool", "coauthor_physics").notation == "5/64/1"


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="not in Table 1"):
        paper.published("mlp", "cora")
    with pytest.raises(ValueError, match="not in Table 2"):
        paper.published("dna-g1", "ogbn")
    with pytest.raises(ValueError, match="not in Table 1"):
        list(paper.grid("mlp"))


def test_figures_stand_in_one_file_only() -> None:
    source = Path(paper.__file__).parents[1]
    for path in source.rglob("*.py"):
        if path != Path(paper.__file__):
            text = path.read_text()
            for figure in ("86.15", "83.20", "74.50", "88.04", "5278", "5_278", "245_861"):
                assert figure not in text, f"{path} repeats {figure} of the paper"
