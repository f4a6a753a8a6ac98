"""Finding leaves: norms by probes, masks by evaluation, layouts without transposes."""

import types

import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import sympy  # noqa: E402
from hk.torch import _builder, _masks, _mlir, _norms  # noqa: E402

# Pairs of an RMSNorm's code and what it is: None where a detail is not hk's.
NORMS = {
    "llama": ("self.weight * (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)",
              (1e-5, 0.0, True)),
    "gemma": ("(f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps) "
              "* (1.0 + self.weight.float())).to(x.dtype)", (1e-5, 1.0, False)),
    "olmo": ("(self.weight * (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)))"
             ".to(x.dtype)", (1e-5, 0.0, False)),
    "epsilon outside": ("(self.weight * (f / (f.pow(2).mean(-1, keepdim=True).sqrt() + self.eps)))"
                        ".to(x.dtype)", None),
    "offset -1": ("((self.weight - 1) * (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) "
                  "+ self.eps))).to(x.dtype)", None),
    "mean subtracted": ("(self.weight * ((f - f.mean(-1, keepdim=True)) * torch.rsqrt("
                        "f.var(-1, keepdim=True, unbiased=False) + self.eps))).to(x.dtype)", None),
    "sum": ("(self.weight * (f * torch.rsqrt(f.pow(2).sum(-1, keepdim=True) + self.eps)))"
            ".to(x.dtype)", None),
    "another epsilon": ("self.weight * (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-3))"
                        ".to(x.dtype)", None),
}


def norm_module(code):
    class SomeNorm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.eps = torch.nn.Parameter(torch.ones(32)), 1e-5

        def forward(self, x):
            return eval(code, {"torch": torch}, {"self": self, "x": x, "f": x.float()})

    return SomeNorm()


@pytest.mark.parametrize("name", NORMS)
def test_norms(name):
    code, expected = NORMS[name]
    module = norm_module(code)
    assert _norms.is_candidate(module)
    assert _norms.probe(module) == expected
    assert torch.equal(module.weight, torch.ones(32))


def test_no_plain_norms():
    class GatedNorm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(32))

        def forward(self, x, gate=None):
            return x

    assert not _norms.is_candidate(GatedNorm())
    assert not _norms.is_candidate(torch.nn.LayerNorm(8))
    assert not _norms.is_candidate(torch.nn.Linear(8, 8))


@pytest.mark.parametrize(("function", "expected"), [
    (lambda b, h, i, j: j <= i, (True, -1, -1, -1)),
    (lambda b, h, i, j: (j <= i) & (j > i - 16), (True, 15, -1, -1)),
    (lambda b, h, i, j: (i - j).abs() <= 8, (False, 8, 8, -1)),
    (lambda b, h, i, j: (i - j < 5) & (j - i < 3), (False, 4, 2, -1)),
    (lambda b, h, i, j: torch.ones((), dtype=torch.bool), (False, -1, -1, -1)),
    (lambda b, h, i, j: (j <= i) & (i // 8 == j // 8), (True, -1, -1, 8)),
    (lambda b, h, i, j: i // 5 == j // 5, (False, -1, -1, 5)),
])
@pytest.mark.parametrize("n", [37, 1000])
def test_masks(function, expected, n):
    assert _masks.fit(function, n) == expected


@pytest.mark.parametrize(("said", "context", "expected"), [
    ({"attention_chunk_size": 500}, 4096, (True, -1, -1, 500)),
    ({"attention_chunk_size": 8192}, 131072, (True, -1, -1, 8192)),
    ({"attention_chunk_size": 8192}, 8192, (True, -1, -1, -1)),
    ({"sliding_window": 32768}, 131072, (True, 32767, -1, -1)),
    ({"span": 100}, 2048, (True, 99, -1, -1))])
def test_masks_of_models(said, context, expected):
    """Whatever is named, and whatever is shorter than what is tried in any case."""
    size = next(iter(said.values()))

    def seen(b, h, i, j):
        apart = i // size == j // size if "attention_chunk_size" in said else i - j < size
        return (j <= i) & apart

    assert _masks.fit(seen, _masks.extent_of(types.SimpleNamespace(**said), context)) == expected


@pytest.mark.parametrize("size", [500, 8192])
def test_chunks_that_begin_elsewhere(size):
    """By one token in the third chunk."""
    chunk = lambda i: (i + (i == 2 * size - 1)) // size  # noqa: E731
    assert isinstance(_masks.fit(lambda b, h, i, j: (j <= i) & (chunk(i) == chunk(j)), 2 * size + 5),
                      _masks.UnfittedMask)


@pytest.mark.parametrize("function", [
    lambda b, h, i, j: (j <= i) & ((i + 3) // 8 == (j + 3) // 8),
    lambda b, h, i, j: (j <= i) | (j < 4),
    lambda b, h, i, j: (j <= i) & (j != 3),
    lambda b, h, i, j: torch.zeros((), dtype=torch.bool),
])
def test_masks_that_do_not_fit(function):
    assert isinstance(_masks.fit(function, 37), _masks.UnfittedMask)


def test_groups_of_dims():
    t, s = sympy.symbols("t s", positive=True, integer=True)
    group = _builder.group_dims
    assert group((t, 64), (t, 4, 16)) == [([0], [0]), ([1], [1, 2])]
    assert group((t, 4, 16), (t * 64,)) == [([0, 1, 2], [0])]
    assert group((t, s, 8), (t * s, 2, 4)) == [([0, 1], [0]), ([2], [1, 2])]
    assert group((t, 64), (1, t, 64)) == [([0], [0, 1]), ([1], [2])]
    assert group((t, 64), (t, 64, 1)) == [([0], [0]), ([1], [1, 2])]
    assert group((6, 4), (4, 6)) == [([0, 1], [0, 1])]
    assert group((), (1,)) == []
    assert group((t,), (s,)) is None
    assert group((t, 3), (t,)) is None


def test_transposes_cancel():
    writer = _mlir.Writer()
    b = _builder.Builder(writer, lambda s: "%t", weight=None, counted=None)
    x = b.value("constant", (8, 2, 4), "f32", value=0)
    turned = x._replace(shape=(2, 8, 4), dims=(1, 0, 2))
    assert b.dense(turned._replace(shape=(8, 2, 4), dims=(0, 1, 2))).ssa == x.ssa
    y = b.unary("exp", turned)
    assert y.dims == (1, 0, 2) and not any("transpose" in line for line in writer.lines)
    assert b.dense(y).stored == (2, 8, 4)
    assert sum("transpose" in line for line in writer.lines) == 1


@pytest.mark.parametrize(("value", "element", "text"), [
    (1, "f32", "1.0"), (1e-20, "f32", "9.9999999999999995e-21"), (1e20, "f32", "1.0e+20"),
    (float("-inf"), "bf16", "0xFF80"), (float("inf"), "f32", "0x7F800000"), (2.0, "i32", "2"),
    (True, "i1", "true")])
def test_literals(value, element, text):
    assert _mlir.number(value, element) == text
