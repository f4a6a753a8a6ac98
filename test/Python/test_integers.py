"""Integers as PyTorch computes with them: what does not fit wraps, quotients are cut off or rounded
down, real numbers beside them are not cut off, and nothing is exact below 2^24 only. Every element
is compared, without a bound."""

import hk
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402

WIDE = [0, 1, -1, 127, 128, -128, -129, 255, 256, 257, 300, -300, 32767, 32768, -32769, 65535, 65536,
        70000, 2**31 - 1, 2**31, -2**31 - 1, 2**32, 2**32 + 5, 3 - 2**40]
REAL = [0.4, -0.6, 2.5, 127.7, 128.2, -128.9, -129.5, 255.0, 300.5, -300.5, 70000.7, -40000.2]

CONVERSIONS = {f"to_{bits}": (lambda x, d=d: x.to(d)) for bits, d in
               ((8, torch.int8), (16, torch.int16), (32, torch.int32))}
FUNCTIONS = CONVERSIONS | {
    "written": lambda x: torch.zeros(4, 6, dtype=torch.int8).copy_(x),
    "above": lambda x: x >= 0.5, "below": lambda x: x < -0.5, "is": lambda x: x == 0.5,
    "beside": lambda x: x < torch.arange(6.0) - 2.5, "clamped": lambda x: x.clamp(0, 2.5),
    "floored": lambda x: x // 3, "cut": lambda x: torch.div(x, -7, rounding_mode="trunc"),
    "rest": lambda x: x % 3, "negative_rest": lambda x: x % -5,
    "quotients": lambda x: (x // (x[:, :1] - 2), x % (x[:, :1] - 2)), "fmod": lambda x: torch.fmod(x, 7),
    "shifted": lambda x: (x << 2) - (x >> 3), "bits": lambda x: ~x & 15,
    "sum": lambda x: x.sum(-1), "total": lambda x: x.sum(), "narrow_sum": lambda x: x.sum(
        0, dtype=torch.int32), "largest": lambda x: x.amax(-1), "least": lambda x: x.amin(0),
    "last": lambda x: x.min(), "place": lambda x: x.argmax(-1), "least_place": lambda x: x.argmin(-1),
    "both": lambda x: tuple(x.min(-1)), "relu": lambda x: x.relu(), "count": lambda x: (x > 0).sum()}


class Of(torch.nn.Module):
    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, x):
        return {f"{name}_{i}": made for name, function in self.functions.items() for i, made in
                enumerate(torch.utils._pytree.tree_leaves(function(x)))}


@pytest.mark.parametrize("x, functions", [
    (torch.tensor(WIDE).reshape(4, 6), FUNCTIONS),
    (torch.tensor(WIDE).to(torch.int16).reshape(4, 6), FUNCTIONS),
    (torch.tensor(REAL), CONVERSIONS)], ids=["i64", "i16", "f32"])
def test_integers(tmp_path, x, functions):
    module = Of(functions)
    graph = hk.torch.export_module(module, (x,))
    made = hk.load(hk.compile(graph, tmp_path / "m.so"), threads=1).forward(x)
    for name, expected in module(x).items():
        found = getattr(made, name).torch()
        assert found.dtype == expected.dtype and torch.equal(found, expected), (name, found, expected)


@pytest.mark.parametrize("function, said", [
    (lambda x: x | 3, "logic on the bits"), (lambda x: x.topk(2)[0], "topk of integers"),
    (lambda x: x.float() // 3, r"write torch\.floor"), (lambda x: x & 6, "power of two less one"),
    (lambda x: x.float() % 3, "remainder of real numbers"), (lambda x: x << 63, "shift by")])
def test_refusals(function, said):
    with pytest.raises(hk.UnsupportedModel, match=said):
        hk.torch.export_module(Of({"y": function}), (torch.tensor(WIDE),))
