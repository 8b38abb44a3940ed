"""The native layer, forward and backward, against the reference."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from justjump.ops import native
from justjump.ops.adjacency import Adjacency
from layer_helpers import check, run, tensors
from native_helpers import edge_weights, make_graph, views

if not native.available():
    pytest.skip(native.why_not(), allow_module_level=True)

SIZES = [
    (1, 1, 1),
    (1, 5, 1),
    (3, 2, 2),
    (3, 5, 3),
    (4, 4, 8),
    (5, 7, 1),
    (8, 16, 16),
    (8, 16, 1),
    (16, 8, 8),
    (16, 8, 32),
]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("packed", [False, True], ids=["standard", "packed"])
def test_layer(isa: str, size: tuple[int, int, int], packed: bool) -> None:
    for number, name in enumerate(("one", "empty", "small", "hub")):
        for dtype in (torch.float32, torch.float64):
            options = {"packed": packed, "wide": number % 2 == 1, "apart": number > 1}
            check(make_graph(name), size, 2, dtype, 0.4, relu=True, **options)
            for with_newest in (False, True):
                for bias in (True, False):
                    check(make_graph(name), size, 2, dtype, 0.4, bias=bias, with_newest=with_newest, **options)


@pytest.mark.parametrize("kept", [0, 2**23], ids=["scores-twice", "scores-kept"])
def test_layer_of_many_steps(isa: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.layer, "KEPT_BYTES", kept)
    for steps in range(1, 9):
        for groups in (1, 8):
            check(make_graph("small"), (4, 4, groups), steps, torch.float64, 0.8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_layer(isa: str, data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 200))
    edges = data.draw(st.lists(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=40))
    adj = Adjacency.build(torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T, num_nodes=nodes)
    heads, channels = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    divisors = [g for g in range(1, heads * channels + 1) if heads * channels % g == 0]
    flags = {name: data.draw(st.booleans()) for name in ("bias", "with_newest", "packed", "relu", "wide", "apart")}
    check(
        adj,
        (heads, channels, data.draw(st.sampled_from(divisors))),
        data.draw(st.integers(1, 4)),
        data.draw(st.sampled_from([torch.float32, torch.float64])),
        data.draw(st.sampled_from([0.0, 0.3, 0.9])),
        seed=data.draw(st.integers(-(2**63), 2**63 - 1)),
        **flags,
    )


@pytest.mark.parametrize("size", [(8, 4, 16), (8, 4, 2), (8, 16, 16)], ids=["folded", "separate", "sparse"])
@pytest.mark.parametrize("packed", [False, True], ids=["standard", "packed"])
def test_threads_give_the_same_bits(isa: str, threads, size: tuple[int, int, int], packed: bool) -> None:  # type: ignore[no-untyped-def]
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(900, (2, 7000), generator=generator)
    ends[0, :1500] = ends[1, -1500:] = 3  # a hub in each direction
    adj = Adjacency.build(ends, num_nodes=900)
    for dtype in (torch.float32, torch.float64):
        history, _, weights, biases, grad = tensors(900, *size, 3, True, dtype)
        edge_weight = edge_weights(adj, dtype).detach()
        arguments = (adj, history, None, weights, biases, edge_weight, size[0], 0.5, 3, grad, packed)
        threads(1)
        out, grads = run(*arguments)
        for number in (2, 3, 70):
            threads(number)
            again, again_grads = run(*arguments)
            for x, y in zip([out, *grads], [again, *again_grads], strict=True):
                assert torch.equal(x, y)


def test_bad_layers_are_refused() -> None:
    adj = make_graph("small")
    csr, csc = views(adj)
    history, newest, weights, biases, grad = tensors(adj.num_nodes, 4, 4, 4, 2, True, torch.float32)
    edge_weight = edge_weights(adj, torch.float32).detach()

    def layer(attended=(history,), newest=None, weights=weights, biases=biases, edge_weight=edge_weight):  # type: ignore[no-untyped-def]
        return native.Layer(attended, newest, weights, biases, edge_weight, 4, 0.5, 1, False)

    out, saved = native.layer_forward(layer(), csr, csc)
    assert out.shape == newest.shape
    with pytest.raises(ValueError, match="a weight has 2 groups, another 4"):
        layer(weights=[weights[0], torch.zeros(2, 8, 8), weights[2]])
    with pytest.raises(TypeError, match=r"weight has dtype torch\.float64"):
        layer(weights=[weights[0], weights[1].double(), weights[2]])
    with pytest.raises(ValueError, match=r"bias has shape \[3\], expected \[16\]"):
        layer(biases=[biases[0], torch.zeros(3), biases[2]])
    with pytest.raises(ValueError, match="x is a torch.strided tensor on meta"):
        layer(attended=[history.to("meta")])
    with pytest.raises(TypeError, match=r"x has dtype torch\.float64, expected torch\.float32"):
        layer(attended=[history.double()])
    with pytest.raises(ValueError, match="no former representations"):
        layer(attended=[history[:, :0]])
    with pytest.raises(ValueError, match=r"colptr has shape \[22\], expected \[11\]"):
        native.layer_forward(layer(attended=[history[:10]], newest=newest), csr, csc)
    cases = [
        (layer(edge_weight=edge_weight[:-1]), r"edge_weight has shape"),
        (layer(attended=[history[..., :-1]]), r"attended has shape \[21, 2, 15\], expected \[21, 16\] or"),
        (layer(attended=[history, history[:-1]]), r"attended has shape \[20, 2, 16\]"),
        (layer(attended=[history.mT.contiguous().mT]), "expected contiguous rows"),
        (layer(attended=[history[:5]]), r"colptr has shape \[22\], expected \[6\]"),
        (layer(newest=newest[:4]), r"attended has shape \[4, 16\], expected \[21, 16\]"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            native.layer_forward(bad, csr, csc)
    with pytest.raises(ValueError, match=r"grad has shape \[21, 3\]"):
        native.layer_backward(layer(), csr, csc, saved, grad[:, :3].contiguous())
    with pytest.raises(ValueError, match="saved has shape"):
        native.layer_backward(layer(), csr, csc, [saved[0], *saved[1:-1], saved[-1][:-1]], grad)
    with_relu = native.Layer([history], None, weights, biases, edge_weight, 4, 0.5, 1, packed=False, relu=True)
    with pytest.raises(ValueError, match="out is None"):
        native.layer_backward(with_relu, csr, csc, saved, grad)
    with pytest.raises(TypeError, match=r"grad has dtype torch\.float64"):
        native.layer_backward(layer(), csr, csc, saved, grad.double())
