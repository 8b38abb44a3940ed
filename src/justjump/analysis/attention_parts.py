"""What the edges of a graph in parts attend to, counted part by part."""

from __future__ import annotations

from pathlib import Path

from justjump.analysis.attention import attended, blocks_of, check_dna, checked_layer
from justjump.analysis.attention_statistics import Box, By, Counts, boxes_of
from justjump.data.parts import Parts
from justjump.train import Run
from justjump.train.parts.inference import Inference
from justjump.train.parts.pool import compute_layers, pool_of
from justjump.train.parts.predictions import check_fits
from justjump.train.process import one_torch_thread


def attention_of_parts(
    run: Run,
    parts: Parts,
    by: By = "all",
    layer: int | None = None,
    workers: int = 1,
    scratch: str | Path | None = None,
) -> list[Box]:
    """Distributions of the attention weights of a trained network on a graph that may be larger than memory.

    They are those of the whole graph, as ``justjump attention`` shows them.

    Args:
        run: the trained network
        parts: of a graph with the features of the run
        by: one distribution for all edges and heads of the layer, for each ``"head"``, for each ``"class"`` of target
            nodes, or for each ``"layer"``
        layer: counted from 1; the last one by default
        workers, scratch: as of :meth:`Run.predict <justjump.train.Run.predict>`
    """
    check_dna(run.model)
    check_fits(run, parts)
    layers = range(1, run.config.layers + 1) if by == "layer" else [checked_layer(run.model, layer)]
    classes, found = len(parts.manifest.class_names), []
    with pool_of(parts, run.model, workers, scratch) as pool:
        compute_layers(pool, max(layers) - 1)
        for t in layers:
            total = Counts.of(run.model, t, by, classes)
            for counts in pool.run(count_part, [(t, by, classes, number) for number in range(len(parts))]):
                total.join(counts)
            found += boxes_of(run.model, t, by, total)
    return found


def count_part(inference: Inference, layer: int, by: By, classes: int, number: int) -> Counts:
    """Count the weights that the edges to the nodes of one part give in a layer."""
    model = inference.model.eval()
    with one_torch_thread():
        inference.fill_halo(layer - 1, number)
        local, steps = inference.local(number), sorted({layer - 1, *attended(model, layer)})
        history = dict(zip(steps, inference.history(number, steps), strict=True))
        counts = Counts.of(model, layer, by, classes)
        for block in blocks_of(model, history, local.adj, layer):
            counts.add_block(by, block, local.labels)
    return counts
