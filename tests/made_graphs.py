"""Graphs with labels of every kind, made from a seed: friends of a kind, and features that say something of it."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from justjump.data import Graph
from justjump.data.columns import Table
from justjump.data.labels import find_labels


def kinds_and_friends(nodes: int, kinds: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The kind of each node ``[N]``, and ``edge_index`` in both directions, four of five edges within a kind."""
    random = np.random.RandomState(seed)
    kind = random.randint(0, kinds, nodes)
    ends = random.randint(0, nodes, (2, 20 * nodes))
    keep = (kind[ends[0]] == kind[ends[1]]) | (random.rand(20 * nodes) < 0.1)
    ends = ends[:, keep & (ends[0] != ends[1])][:, : 4 * nodes]
    return kind, np.unique(np.concatenate([ends, ends[::-1]], axis=1), axis=1)


def made_graph(task: str, nodes: int = 300, seed: int = 0, unknown: float = 0.1) -> Graph:
    """A graph for one of the tasks; a share of the labels is unknown."""
    random = np.random.RandomState(seed + 1)
    kind, edges = kinds_and_friends(nodes, seed=seed)
    features = random.randn(nodes, 6).astype(np.float32)
    features[:, :3] += 2 * np.eye(3, dtype=np.float32)[kind]
    hidden = random.rand(nodes) < unknown
    if task == "multiclass":
        labels = np.where(hidden, -1, kind)
    elif task == "multilabel":
        labels = np.stack([kind == 0, kind != 1, features[:, 4] > 0], axis=1).astype(np.float32)
        labels[hidden, 0] = np.nan
        labels[hidden[::-1]] = np.nan
    else:
        labels = (1000 * kind + 300 * features[:, 3]).astype(np.float32)
        labels[hidden] = np.nan
    found = find_labels(labels)
    return Graph(edges, features, found.values, found.names, name=task, task=found.task)


def made_graphs(count: int = 60, seed: int = 0) -> Graph:
    """Rings and stars with noise as features: which one it is can be seen from the degrees alone."""
    random = np.random.RandomState(seed)
    graphs = []
    for number in range(count):
        size = random.randint(6, 12)
        nodes = np.arange(1, size)
        ends = np.stack(
            [np.zeros(size - 1, int), nodes] if number % 2 else [np.arange(size), (np.arange(size) + 1) % size]
        )
        edges = np.concatenate([ends, ends[::-1]], axis=1)
        degree = np.bincount(edges[0], minlength=size)
        features = np.stack([degree == 1, degree == 2, degree > 2], axis=1).astype(np.float32)
        graphs.append(Graph(edges, features, np.full(size, -1), ()))
    return Graph.from_graphs(graphs, np.arange(count) % 2)


def _table(kind: np.ndarray, random: np.random.RandomState) -> Table:
    """Columns as a shop has them: two numbers of different sizes with gaps, a city, a flag, a date and remarks."""
    nodes = len(kind)
    income = 30_000 + 25_000 * kind + 9_000 * random.randn(nodes)
    income[random.rand(nodes) < 0.1] = np.nan
    cities = np.array(["Bonn", "Ulm", "Kiel", "Jena"])
    city = np.where(random.rand(nodes) < 0.5, cities[kind], random.choice(cities, nodes))
    return Table.of(
        {
            "income": income,
            "age": 40 + 6 * (kind == 1) + 8 * random.randn(nodes),
            "city": city,
            "member": np.where(random.rand(nodes) < 0.5, "yes", "no"),
            "since": [f"20{year:02}-03-01" for year in random.randint(10, 26, nodes)],
            "remark": [f"customer {number} said something" for number in range(nodes)],
        }
    )


def peoples_graphs() -> dict[str, Graph]:
    """Graphs with the columns, the tasks and the oddities that people's graphs have, by what they are like."""
    random = np.random.RandomState(5)
    kind, edges = kinds_and_friends(300, seed=5)
    noise = random.randn(300, 6).astype(np.float32)
    signal = noise + 2 * np.eye(6, dtype=np.float32)[kind]
    names = ("a", "b", "c")
    words = csr_matrix((random.rand(300, 200) < 0.02 + 0.2 * (np.arange(200) % 3 == kind[:, None])).astype(np.float32))
    rare = np.where((kind == 0) & (signal[:, 0] > 3), 1, 0)
    steps = 1 + np.minimum(4, (kind * 2 + (noise[:, 1] > 0)).astype(int))
    weight = random.rand(edges.shape[1]).astype(np.float32)
    gaps = signal.copy()
    gaps[random.rand(*gaps.shape) < 0.3] = np.nan
    other = (kind + 1) % 3  # the edges of this one join different kinds
    pairs = np.stack([random.permutation(300), random.permutation(300)])
    pairs = pairs[:, kind[pairs[0]] != kind[pairs[1]]]
    several = np.stack([kind == 0, kind != 1, noise[:, 4] > 0], axis=1)
    several ^= np.random.RandomState(6).rand(300, 3) < 0.1  # some are wrong, as such labels are
    place = random.rand(300, 2)
    price = 200_000 * (1 + np.sin(4 * place[:, 0]) + place[:, 1]) + 20_000 * noise[:, 0]
    near = np.argsort(((place[:, None] - place[None]) ** 2).sum(-1), axis=1)[:, 1:5]
    streets = np.stack([np.repeat(np.arange(300), 4), near.ravel()])
    streets = np.unique(np.concatenate([streets, streets[::-1]], axis=1), axis=1)
    one_hot = find_labels(np.eye(3)[kind])
    many = made_graphs(120)
    assert many.batch is not None
    assert isinstance(many.features, np.ndarray)
    leaves = np.bincount(many.batch, many.features[:, 0]) / np.bincount(many.batch)
    return {
        "customers": Graph(edges, _table(kind, random), kind, names),
        "papers": Graph(edges, words, kind, names),
        "fraud": Graph(edges, signal, rare, ("honest", "fraud")),
        "ratings": Graph(edges, signal, steps - 1, tuple("12345")).with_task("regression"),
        "weighted and directed": Graph(edges[:, ::2], signal, kind, names, edge_weight=weight[::2]),
        "missing values": Graph(edges, gaps, kind, names),
        "unlike neighbours": Graph(np.concatenate([pairs, pairs[::-1]], axis=1), signal, other, names),
        "no edges": Graph(np.zeros((2, 0), int), signal, kind, names),
        "functions of proteins": Graph(edges, signal, several.astype(np.float32), names, task="multilabel"),
        "houses": Graph(streets, place * [1000, 1] + [5_000_000, 0], price[:, None], ("price",), task="regression"),
        "two targets": Graph(
            edges, signal, np.stack([1e-3 * kind, 1e6 * signal[:, 1]], axis=1), ("small", "large"), task="regression"
        ),
        "one-hot classes": Graph(edges, signal, one_hot.values, one_hot.names),
        "rings and stars": made_graphs(60),
        "shares of leaves": replace(many, labels=leaves[:, None], class_names=("share",), task="regression"),
    }
