"""hk.ops against PyTorch's formulas in double, at the widths of AITER's own tests, on the host.

Every bound is derived: half a step of the result's type, and for what is computed in f32 the
error of sums in any order (u = 2^-24).
"""

import pathlib

import pytest

torch = pytest.importorskip("torch")
import hk  # noqa: E402
from hk import ops  # noqa: E402

F = torch.nn.functional
U = 2.0**-24
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
FP8, FNUZ, INT8 = torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.int8


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Modules of this test only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("ops")))
        patch.setattr("hk.ops._run._functions", {})
        torch.manual_seed(0)
        yield


def near(actual, expected, noise=0.0):
    """Rounded once from `expected`, whose error in f32 is at most `noise`."""
    info = torch.finfo(actual.dtype)
    bound = (expected.abs() + noise) * info.eps / 2 + noise + info.smallest_normal * info.eps
    error = (actual.double() - expected).abs()
    assert (error <= bound).all(), f"{error.max()} of {expected.abs().max()}"


def check(operator, *args):
    """The schema is true and the fake implementation gives what the real one does."""
    torch.library.opcheck(operator, args, test_utils=("test_schema", "test_faketensor"))


def rms(x, weight, epsilon=1e-5):
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight.double()


def layer(x, weight, bias):
    """The value and the noise: the mean is wrong by N u mean |x|."""
    x, n = x.double(), x.shape[-1]
    spread = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    y = (x - x.mean(-1, keepdim=True)) / spread * weight.double()
    noise = n * U * x.abs().mean(-1, keepdim=True) / spread * weight.double().abs()
    return y + bias.double(), 2 * noise + (n + 8) * U * y.abs() + 4 * U * bias.double().abs()


def rms_noise(expected):
    return (expected.shape[-1] / 2 + 8) * U * expected.abs()


@pytest.mark.parametrize(("dtype", "n"), [(BF16, 4096), (F16, 8192), (F32, 16384), (BF16, 65536)])
@pytest.mark.parametrize("m", [1, 16])
def test_rms_norms(dtype, m, n):
    x, r, w = torch.randn(m, n, dtype=dtype), torch.randn(m, n, dtype=dtype), torch.randn(n).to(dtype)
    for operator in (ops.rms_norm, ops.rmsnorm2d_fwd):
        expected = rms(x, w)
        near(operator(x, w, 1e-5), expected, rms_noise(expected))
    for gemma in (False, True):
        out, total = torch.empty_like(x), torch.empty_like(x)
        ops.rmsnorm2d_fwd_with_add(out, x, r, total, w, 1e-5, gemma)
        assert torch.equal(total, x + r)
        expected = rms(total, w.double() + gemma)
        near(out, expected, rms_noise(expected) + 2 * U * expected.abs())


@pytest.mark.parametrize(("dtype", "n"), [(BF16, 4096), (F32, 8192)])
def test_layer_norms(dtype, n):
    x, r = torch.randn(2, 8, n, dtype=dtype) + 1, torch.randn(2, 8, n, dtype=dtype)
    w, b = torch.randn(n, dtype=dtype), torch.randn(n, dtype=dtype)
    for operator in (ops.layer_norm, ops.layernorm2d_fwd):
        near(operator(x, w, b), *layer(x, w, b))
    out, total = torch.empty_like(x), torch.empty_like(x)
    ops.layernorm2d_fwd_with_add(out, x, r, total, w, b, 1e-5)
    assert torch.equal(total, x + r)
    near(out, *layer(total, w, b))


@pytest.mark.parametrize(("dtype", "n"), [(BF16, 1024), (F16, 4096), (BF16, 6400), (F16, 8192)])
def test_gated_activations(dtype, n):
    x = torch.randn(32, n, dtype=dtype)
    gate, up = x.double().chunk(2, -1)
    for operator, act in ((ops.silu_and_mul, F.silu(gate)), (ops.gelu_and_mul, F.gelu(gate)),
                          (ops.gelu_tanh_and_mul, F.gelu(gate, approximate="tanh"))):
        out = torch.empty(32, n // 2, dtype=dtype)
        operator(out, x)
        # 1 + erf and 1 + tanh cancel for negative gates: u of their 1, times the gate.
        near(out, act * up, 16 * U * (act.abs() + gate.abs()) * up.abs())


def codes(values, scale, dtype):
    """Values quantised with a scale, as IEEE has it."""
    quotient = values.float() / scale
    if dtype == INT8:
        return quotient.round().clamp(-127, 127).to(INT8)
    limit = torch.finfo(dtype).max
    return quotient.clamp(-limit, limit).to(dtype)


def limit(dtype):
    return 127.0 if dtype == INT8 else torch.finfo(dtype).max


@pytest.mark.parametrize(("dtype", "n"), [(FP8, 4096), (FNUZ, 8192), (INT8, 4096)])
def test_quantisation_is_exact(dtype, n):
    x = torch.randn(16, n).bfloat16() * 111
    x[3] = 0
    out, scales = torch.empty(x.shape, dtype=dtype), torch.empty(16, 1)
    ops.dynamic_per_token_scaled_quant(out, x, scales)
    expected = x.float().abs().amax(-1, keepdim=True) / limit(dtype)
    expected[3] = 1
    assert torch.equal(scales, expected)
    assert torch.equal(out.view(INT8), codes(x, scales, dtype).view(INT8))
    scale = torch.empty(1)
    ops.dynamic_per_tensor_quant(out, x, scale)
    assert torch.equal(scale, x.float().abs().max().view(1) / limit(dtype))
    assert torch.equal(out.view(INT8), codes(x, scale, dtype).view(INT8))
    again = torch.empty_like(out)
    ops.static_per_tensor_quant(again, x, scale)
    assert torch.equal(out.view(INT8), again.view(INT8))


@pytest.mark.parametrize(("source", "dtype"), [(BF16, FP8), (BF16, INT8), (F32, FP8)])
def test_norms_that_quantise(source, dtype, n=4096):
    x, r, w = torch.randn(16, n).to(source), torch.randn(16, n).to(source), torch.randn(n).bfloat16()
    out, total = torch.empty(x.shape, dtype=dtype), torch.empty_like(x)
    for add in (False, True):
        scale = torch.empty(16, 1)
        if add:
            ops.rmsnorm2d_fwd_with_add_dynamicquant(out, x, r, total, scale, w, 1e-5)
            assert torch.equal(total, x + r)
        else:
            ops.rmsnorm2d_fwd_with_dynamicquant(out, x, scale, w, 1e-5)
        y = rms(total if add else x, w)
        noise = rms_noise(y)
        largest = y.abs().amax(-1, keepdim=True)
        near(scale, largest / limit(dtype), rms_noise(y).amax(-1, keepdim=True) / limit(dtype))
        # Half a step: of the code for fp8 (its eps is 2^-3, its least step 2^-9), 1/2 for int8.
        step = (y.abs() + noise) * 2.0**-4 + scale * 2.0**-10 if dtype == FP8 else scale / 2
        error = (out.double() * scale.double() - y).abs()
        assert (error <= step * (1 + 8 * U) + 2 * noise + 2 * U * largest).all()


def product(x, w):
    """In double, and the noise of a sum of K products in f32."""
    x, w = x.double(), w.double()
    return x @ w.mT, (x.shape[-1] + 8) * U * (x.abs() @ w.abs().mT)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1280, 8192), (32, 1280, 8192), (32, 8192, 1024)])
def test_gemm_a16w16(m, n, k):
    x, w = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
    near(ops.gemm_a16w16(x, w), *product(x, w))


@pytest.mark.parametrize(("m", "n", "k", "dtype"), [
    (1, 1280, 8192, INT8), (32, 8192, 1024, FNUZ), (32, 1280, 8192, FP8)])
def test_gemm_a8w8(m, n, k, dtype):
    x, w = codes(torch.randn(m, k), 1 / 32, dtype), codes(torch.randn(n, k), 1 / 32, dtype)
    xs, ws = torch.rand(m, 1) + 1e-6, torch.rand(1, n) + 1e-6
    expected, noise = product(x.double() * xs.double(), w.double() * ws.double().mT)
    near(ops.gemm_a8w8(x, w, xs, ws), expected, noise)
    bias = torch.randn(1, n).bfloat16()
    first = ops.gemm_a8w8(x, w, xs, ws)
    near(ops.gemm_a8w8(x, w, xs, ws, bias), first.double() + bias.double())


@pytest.mark.parametrize(("m", "n", "k"), [(1, 24576, 1536), (4, 2112, 7168)])
def test_gemm_a8w8_blockscale(m, n, k):
    x, w = (torch.rand(m, k) / 10).to(FP8), (torch.rand(n, k) / 10).to(FP8)
    xs, ws = torch.rand(m, k // 128), torch.rand((n + 127) // 128, k // 128)
    wide = ws.repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)
    near(ops.gemm_a8w8_blockscale(x, w, xs, ws), *product(
        x.double() * xs.repeat_interleave(128, 1).double(), w.double() * wide.double()))


@pytest.mark.parametrize("renorm", [False, True])
@pytest.mark.parametrize(("experts", "k", "dtype"), [(8, 2, F32), (128, 8, BF16), (256, 8, F32)])
def test_topk_softmax(experts, k, dtype, renorm, tokens=33):
    gate = torch.randn(tokens, experts).to(dtype)
    weights, ids = torch.empty(tokens, k), torch.empty(tokens, k, dtype=torch.int32)
    source = torch.empty_like(ids)
    ops.topk_softmax(weights, ids, source, gate, renorm)
    p = gate.double().softmax(-1)
    # Of equal gates the first expert: torch's stable order.
    order = gate.float().sort(dim=-1, descending=True, stable=True).indices[:, :k]
    assert torch.equal(ids.long(), order)
    expected = p.gather(-1, order)
    if renorm:
        expected = expected / expected.sum(-1, keepdim=True)
    near(weights, expected, (experts + 2 * k + 16) * U * expected)
    assert torch.equal(source.long(), torch.arange(k) * tokens + torch.arange(tokens)[:, None])


@pytest.mark.parametrize("style", [0, 1])
@pytest.mark.parametrize(("reuse", "nope_first", "rotated"), [
    (True, False, 64), (True, True, 32), (False, False, 64)])
def test_rope(style, reuse, nope_first, rotated, s=5, b=3, size=64):
    queries, keys = torch.randn(s, b, 8, size).bfloat16(), torch.randn(s, b, 2, size).bfloat16()
    angles = torch.rand(40, 1, 1, rotated // (2 if reuse else 1)) * 6
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    positions = torch.randint(0, 40, (s, b))
    found = ops.rope_cached_positions_2c_fwd(queries, keys, cos, sin, positions, style, reuse,
                                             nope_first)
    alone = ops.rope_cached_positions_fwd(queries, cos, sin, positions, style, reuse, nope_first)
    assert torch.equal(found[0], alone)
    for value, actual in zip((queries, keys), found, strict=True):
        start = size - rotated if nope_first else 0
        part = value.double()[..., start:start + rotated]
        c, t = (table.double()[positions, 0, 0].unsqueeze(2) for table in (cos, sin))
        if reuse:
            c, t = ((x.repeat(1, 1, 1, 2) if style == 0 else x.repeat_interleave(2, -1))
                    for x in (c, t))
        if style == 0:
            first, second = part.chunk(2, -1)
            other = torch.cat((-second, first), -1)
        else:
            other = torch.stack((-part[..., 1::2], part[..., ::2]), -1).flatten(-2)
        expected = value.double().clone()
        expected[..., start:start + rotated] = part * c + other * t
        noise = torch.zeros_like(expected)
        noise[..., start:start + rotated] = 4 * U * ((part * c).abs() + (other * t).abs())
        near(actual, expected, noise)


def test_caches():
    key, value = torch.randn(7, 2, 64).bfloat16(), torch.randn(7, 2, 64).bfloat16()
    caches = [torch.zeros(4, 16, 2, 64).bfloat16() for _ in range(2)]
    slots = torch.tensor([5, 63, -1, 0, 17, 18, 32])
    ops.reshape_and_cache_flash(key, value, *caches, slots, "auto")
    for cache, source in zip(caches, (key, value), strict=True):
        expected = torch.zeros(64, 2, 64).bfloat16()
        expected[slots[slots >= 0]] = source[slots >= 0]
        assert torch.equal(cache.view(64, 2, 64), expected)


@pytest.mark.parametrize(("heads", "kv", "size", "block", "dtype"), [
    (8, 1, 128, 16, BF16), (4, 4, 64, 1, F16), (16, 4, 128, 64, BF16)])
def test_paged_attention_decode(heads, kv, size, block, dtype):
    lengths = torch.tensor([1, 77, 130], dtype=torch.int32)
    pages = (int(lengths.max()) + block - 1) // block
    blocks = 3 * pages + 1
    k, v = (torch.randn(blocks, kv, block, size).to(dtype) for _ in range(2))
    table = torch.randperm(blocks)[:3 * pages].view(3, pages).int()
    q, out, scale = torch.randn(3, heads, size).to(dtype), torch.empty(3, heads, size).to(dtype), 0.125
    ops.paged_attention_decode(out, q, k, v, lengths, table, scale, pages * block)
    for row, length in enumerate(lengths):
        keys, values = ((cache[table[row].long()].transpose(0, 1).reshape(kv, -1, size)[:, :length]
                         ).double().repeat_interleave(heads // kv, 0) for cache in (k, v))
        query = q[row].double()[:, None]
        scores = (query @ keys.mT) * scale
        wrong = (size + 4) * U * (query.abs() @ keys.abs().mT).amax() * scale
        p = scores.softmax(-1)
        # Probabilities rounded to the caches' type, scores wrong by `wrong`, sums in f32.
        relative = torch.finfo(dtype).eps + 2 * wrong + 2 * (int(length) + 8) * U
        near(out[row], (p @ values)[:, 0], relative * (p @ values.abs())[:, 0])


def test_schemas_and_fakes():
    x, w, b = torch.randn(4, 128).bfloat16(), torch.randn(128).bfloat16(), torch.randn(128).bfloat16()
    new = torch.empty_like
    check(ops.rms_norm, x, w, 1e-5)
    check(ops.rmsnorm2d_fwd, x, w, 1e-5)
    check(ops.rmsnorm2d_fwd_with_add, new(x), x, x.clone(), new(x), w, 1e-5)
    check(ops.layer_norm, x, w, b)
    check(ops.layernorm2d_fwd, x, w, b)
    check(ops.silu_and_mul, torch.empty(4, 64).bfloat16(), x)
    check(ops.gemm_a16w16, x, x.clone())
    q, s = torch.zeros(4, 128, dtype=INT8), torch.zeros(4, 1)
    check(ops.dynamic_per_token_scaled_quant, q, x, s)
    check(ops.gemm_a8w8, q, q.clone(), s, s.clone())
    check(ops.rope_cached_positions_2c_fwd, x.view(4, 1, 2, 64), x.view(4, 1, 2, 64).clone(),
          torch.rand(9, 32), torch.rand(9, 32), torch.zeros(4, 1, dtype=torch.int64), 0, True, False)


def test_compiles_into_a_graph():
    """torch.compile keeps an operator whole."""
    def step(x, w):
        return ops.rms_norm(x + 1, w, 1e-5) * 2
    x, w = torch.randn(4, 128), torch.randn(128)
    assert torch.equal(torch.compile(step, backend="eager", fullgraph=True)(x, w), step(x, w))


@pytest.mark.parametrize(("call", "text"), [
    (lambda: ops.silu_and_mul(torch.empty(2, 5), torch.ones(2, 8)), "5"),
    (lambda: ops.rmsnorm2d_fwd(torch.ones(2, 8), torch.ones(8), 1e-5, 1),
     "use_model_sensitive_rmsnorm=1 is not supported"),
    (lambda: ops.rms_norm(torch.ones(2, 8, dtype=torch.complex64), torch.ones(8), 1e-5),
     "no element type torch.complex64"),
    (lambda: ops.rms_norm(torch.ones(2, 8, device="meta").to("meta"), torch.ones(8), 1e-5), ""),
])
def test_refusals(call, text):
    if not text:
        assert call().device.type == "meta"  # The fake implementation answers.
        return
    with pytest.raises(hk.Error, match=text):
        call()


def test_every_operator_is_documented():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "ops.md").read_text()
    tested = pathlib.Path(__file__).read_text()
    for name in ops.__all__:
        assert f"| `{name}` |" in page and f"ops.{name}" in tested, name


@pytest.mark.parametrize(("call", "text"), [
    (lambda x, w: ops.rms_norm(x, w[:5], 1e-6), "'hk.rms_norm' op expected size of dim 0 of weight"),
    (lambda x, w: ops.rms_norm(w[0], w, 1e-6), "expected a tensor of rows .* got one of no dims"),
    (lambda x, w: ops.rms_norm(x.view(2, 2, 64).mT, w[:2], 1e-6), "expected a dense .*contiguous copy"),
    (lambda x, w: ops.rms_norm(x.int(), w, 1e-6), ".*must be ranked tensor of 32-bit float")])
def test_errors_name_the_operator(call, text):
    with pytest.raises(hk.Error, match=f"^hk.ops.rms_norm: {text}"):
        call(torch.randn(4, 64), torch.ones(64))
