"""The other libraries of ./amd-report compute what hk computes at the same sizes, as far as that
can be told without a GPU: PyTorch runs on the host, AITER is stood in for by its signatures."""

import math
import sys
import types

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "tools" / "amd-report"))
import peers  # noqa: E402
import timed  # noqa: E402

SMALL = {"matmul": (3, 5, 64), "rms_norm": (3, 64), "silu_and_mul": (3, 32), "softmax": (3, 64),
         "attention": (2, 9, 9, True)}


def expected(operation, sizes, arguments):
    x, *rest = (a.double() for a in arguments)
    if operation == "matmul":
        return x @ rest[0].T
    if operation == "rms_norm":
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * rest[0]
    if operation == "silu_and_mul":
        gate, up = x.chunk(2, -1)
        return gate / (1 + (-gate).exp()) * up
    if operation == "softmax":
        return x.exp() / x.exp().sum(-1, keepdim=True)
    keys, values = (a.repeat_interleave(4, dim=2) for a in rest)
    scores = torch.einsum("bqhd,bkhd->bhqk", x, keys) / math.sqrt(x.shape[-1])
    if sizes[-1]:
        scores += torch.full(scores.shape[-2:], -math.inf, dtype=torch.float64).triu(1)
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), values)


def stand_in():
    """AITER's functions with its order of arguments."""
    module, gemm = types.ModuleType("aiter"), types.ModuleType("aiter.tuned_gemm")

    def silu_and_mul(out, x):
        gate, up = x.chunk(2, -1)
        out.copy_(torch.nn.functional.silu(gate) * up)

    def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
        assert dropout_p == 0 and softmax_scale is None
        return peers.with_torch(torch)["attention"](0, 0, 0, causal)(q, k, v)

    module.silu_and_mul, module.flash_attn_func = silu_and_mul, flash_attn_func
    module.rms_norm = lambda x, weight, epsilon: torch.nn.functional.rms_norm(x, weight.shape, weight, epsilon)
    gemm.tgemm = types.SimpleNamespace(mm=lambda x, weight, bias=None: torch.nn.functional.linear(x, weight, bias))
    return {"aiter": module, "aiter.tuned_gemm": gemm}


@pytest.fixture(params=["torch", "AITER"])
def library(request, monkeypatch):
    for name, module in stand_in().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("HK_REPORT_TORCH_DEVICE", "cpu")
    return peers.LIBRARIES[request.param](torch)


@pytest.mark.parametrize("operation", SMALL)
def test_peer_computes_what_hk_does(library, operation):
    if operation not in library:
        assert operation == "softmax"  # AITER has none of its own
        return
    torch.manual_seed(0)
    arguments = peers.inputs(torch, operation, *SMALL[operation])
    actual = library[operation](*SMALL[operation])(*arguments)
    wanted = expected(operation, SMALL[operation], arguments)
    assert actual.shape == wanted.shape
    # A rounding to bf16 is off by at most 2^-9 of its result, and there are at most four in turn.
    assert (actual.double() - wanted).norm() / wanted.norm() < 2**-7


def test_every_case_has_a_peer():
    known = peers.with_torch(torch)
    source = (ROOT / timed.SOURCE).read_text()
    for case in timed.CASES:
        assert case.peer[0] in known and case.peer[0] in SMALL
        assert len(case.peer) == len(SMALL[case.peer[0]]) + 1
        assert f"func.func @{case.function}(" in source
