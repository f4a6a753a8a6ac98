"""The work that pairs.py compares: a graph for hk, and calls of AITER's wrappers.

Sizes are those of Llama 3 8B and 70B (4096 and 8192 wide), DeepSeek V3 (blocks of 128 with
scales, 7168 wide) and Qwen3-Next (gated delta rule). {F8} is the chip's 8-bit type.
"""
import inspect
import re
from dataclasses import dataclass

import torch

BF16, F32, I32, U8 = torch.bfloat16, torch.float32, torch.int32, torch.uint8
CASES = []
ALL = ("gfx942", "gfx950")


@dataclass
class Case:
    family: str
    name: str
    shape: str
    mlir: str
    options: list  # of hk-run
    aiter: object  # aiter(get, f8) calls a wrapper
    chips: tuple
    about: str = ""
    sampled: bool = True  # hk's blocks do about the same work each: a sample of them tells


def pair(family, shape, mlir, options=(), chips=ALL, about="", sampled=True):
    """Registers a function that calls AITER; `mlir` is the body of hk's, after its name."""

    def add(call):
        name = call.__name__
        CASES.append(Case(family, name, shape, f"func.func @{name}{inspect.cleandoc(mlir)}\n", list(options), call, chips,
                          about, sampled))
        return call

    return add


def zeros(*shape, dtype=BF16):
    return torch.zeros(shape, dtype=dtype)


def unary(op, kind, more=""):
    return f"""(%x: tensor<{kind}>{more}) -> tensor<{kind}> {{
      %y = {op} : tensor<{kind}>
      return %y : tensor<{kind}>
    }}"""


@pair("row-wise", "4096 x 4096 bf16", """(%x: tensor<4096x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<4096x4096xbf16>, tensor<4096xbf16>
  return %y : tensor<4096x4096xbf16>
}""")
def rms_norm(get, f8):
    get("normalization.rmsnorm").rms_norm(zeros(4096, 4096), zeros(4096), 1e-5)


@pair("row-wise", "4096 x 8192 bf16", """(%x: tensor<4096x8192xbf16>, %r: tensor<4096x8192xbf16>, %w: tensor<8192xbf16>) -> (tensor<4096x8192xbf16>, tensor<4096x8192xbf16>) {
  %s = hk.add %x, %r : tensor<4096x8192xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<4096x8192xbf16>, tensor<8192xbf16>
  return %y, %s : tensor<4096x8192xbf16>, tensor<4096x8192xbf16>
}""")
def add_rms_norm(get, f8):
    x, r = zeros(4096, 8192), zeros(4096, 8192)
    get("normalization.rmsnorm").rmsnorm2d_fwd_with_add(zeros(4096, 8192), x, r, zeros(4096, 8192), zeros(8192), 1e-5)


@pair("row-wise", "4096 x 4096 bf16", """(%x: tensor<4096x4096xbf16>, %w: tensor<4096xbf16>, %b: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<4096x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
  return %y : tensor<4096x4096xbf16>
}""", about="AITER's also stores mean and deviation of each row")
def layer_norm(get, f8):
    get("normalization.norm").layer_norm(zeros(4096, 4096), zeros(4096), zeros(4096))


@pair("row-wise", "4096 x 8192 bf16", unary("hk.softmax %x", "4096x8192xbf16"))
def softmax(get, f8):
    get("softmax").softmax(zeros(4096, 8192))


@pair("row-wise", "4096 x 8192 bf16 to fp8, a scale a row", """(%x: tensor<4096x8192xbf16>) -> (tensor<4096x8192x{F8}>, tensor<4096x1xf32>) {
  %y, %s = hk.quantize per_token %x : tensor<4096x8192xbf16> -> tensor<4096x8192x{F8}>, tensor<4096x1xf32>
  return %y, %s : tensor<4096x8192x{F8}>, tensor<4096x1xf32>
}""")
def quantize_row(get, f8):
    get("quant.quant").dynamic_per_token_quant_fp8_i8(zeros(4096, 8192, dtype=f8), zeros(4096, 8192),
                                                      zeros(4096, dtype=F32))


@pair("row-wise", "4096 x 7168 bf16, residual, fp8 in groups of 128", """(%x: tensor<4096x7168xbf16>, %r: tensor<4096x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<4096x7168x{F8}>, tensor<4096x56xf32>, tensor<4096x7168xbf16>) {
  %s = hk.add %x, %r : tensor<4096x7168xbf16> -> tensor<4096x7168xf32>
  %o = hk.cast %s : tensor<4096x7168xf32> -> tensor<4096x7168xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<4096x7168xf32>, tensor<7168xbf16>
  %q, %t = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<4096x7168xf32> -> tensor<4096x7168x{F8}>, tensor<4096x56xf32>
  return %q, %t, %o : tensor<4096x7168x{F8}>, tensor<4096x56xf32>, tensor<4096x7168xbf16>
}""")
def add_rms_norm_quantize(get, f8):
    get("quant.fused_fp8_quant").fused_rms_fp8_group_quant(zeros(4096, 7168), zeros(7168), 1e-6, dtype_quant=f8,
                                                           res1=zeros(4096, 7168))


@pair("row-wise", "2048 x 28672 bf16", """(%x: tensor<2048x28672xbf16>) -> tensor<2048x14336xbf16> {
  %y = hk.gated_activation silu %x : tensor<2048x28672xbf16> -> tensor<2048x14336xbf16>
  return %y : tensor<2048x14336xbf16>
}""")
def silu_and_mul(get, f8):
    get("activation").fused_silu_mul(zeros(2048, 28672))


@pair("row-wise", "4096 x 4096 bf16, fp8 in groups of 128", """(%x: tensor<4096x4096xbf16>) -> (tensor<4096x2048x{F8}>, tensor<4096x16xf32>) {
  %y = hk.gated_activation silu %x : tensor<4096x4096xbf16> -> tensor<4096x2048xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<4096x2048xf32> -> tensor<4096x2048x{F8}>, tensor<4096x16xf32>
  return %q, %s : tensor<4096x2048x{F8}>, tensor<4096x16xf32>
}""")
def silu_and_mul_quantize(get, f8):
    get("activation").act_mul_and_fp8_group_quant(zeros(4096, 4096), "silu", 128, f8)


@pair("row-wise", "4096 tokens, 32 heads of 128 bf16", """(%x: tensor<4096x32x128xbf16>, %c: tensor<4096x64xbf16>, %s: tensor<4096x64xbf16>) -> tensor<4096x32x128xbf16> {
  %y = hk.rope neox %x, %c, %s : tensor<4096x32x128xbf16>, tensor<4096x64xbf16>, tensor<4096x64xbf16>
  return %y : tensor<4096x32x128xbf16>
}""")
def rope(get, f8):
    get("rope.rope").rope_cached_fwd(zeros(4096, 1, 32, 128), zeros(4096, 1, 1, 64), zeros(4096, 1, 1, 64), 0, True, False)


@pair("row-wise", "4096 x 4096 bf16 to mxfp4", """(%x: tensor<4096x4096xbf16>) -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>) {
  %y, %s = hk.quantize_mx even %x : tensor<4096x4096xbf16> -> tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>
  return %y, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>
}""")
def quantize_mxfp4(get, f8):
    get("quant.quant").dynamic_mxfp4_quant(zeros(4096, 4096))


def product(m, n, k, kind="bf16"):
    return f"""(%x: tensor<{m}x{k}x{kind}>, %w: tensor<{n}x{k}x{kind}>) -> tensor<{m}x{n}xbf16> {{
  %y = hk.matmul %x, %w transpose_b : tensor<{m}x{k}x{kind}>, tensor<{n}x{k}x{kind}> -> tensor<{m}x{n}xbf16>
  return %y : tensor<{m}x{n}xbf16>
}}"""


def scaled(m, n, k, kind, rows, columns, of="f32"):
    x, w = f"tensor<{m}x{k}x{kind}>", f"tensor<{n}x{k}x{kind}>"
    s, t = f"tensor<{rows[0]}x{rows[1]}x{of}>", f"tensor<{columns[0]}x{columns[1]}x{of}>"
    return f"""(%x: {x}, %w: {w}, %s: {s}, %t: {t}) -> tensor<{m}x{n}xbf16> {{
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : {x}, {w} scales ({s}, {t}) -> tensor<{m}x{n}xbf16>
  return %y : tensor<{m}x{n}xbf16>
}}"""


def blocks(m, n, k):
    return scaled(m, n, k, "{F8}", (m, k // 128), (n // 128, k // 128))


def gemm_bf16(m, n, k):
    return lambda get, f8: get("gemm.basic.gemm_a16w16").gemm_a16w16(zeros(m, k), zeros(n, k))


def gemm_fp8(m, n, k):
    return lambda get, f8: get("gemm.basic.gemm_a8w8_per_token_scale").gemm_a8w8_per_token_scale(
        zeros(m, k, dtype=f8), zeros(n, k, dtype=f8), zeros(m, 1, dtype=F32), zeros(n, 1, dtype=F32))


def gemm_blocks(m, n, k):
    return lambda get, f8: get("gemm.basic.gemm_a8w8_blockscale").gemm_a8w8_blockscale(
        zeros(m, k, dtype=f8), zeros(n, k, dtype=f8), zeros(m, k // 128, dtype=F32), zeros(n // 128, k // 128, dtype=F32),
        backend="triton")


def gemm_mxfp4(m, n, k):
    return lambda get, f8: get("gemm.basic.gemm_afp4wfp4").gemm_afp4wfp4(
        zeros(m, k // 2, dtype=U8), zeros(n, k // 2, dtype=U8), zeros(m, k // 32, dtype=U8), zeros(n, k // 32, dtype=U8))


def add_gemm(name, m, n, k, mlir, call, chips=ALL):
    call.__name__ = f"{name}_{m}_{n}_{k}"
    pair("product", f"M {m}, N {n}, K {k}", mlir, chips=chips)(call)


for m, n, k in ((16, 4096, 4096), (64, 28672, 4096), (512, 4096, 4096), (2048, 4096, 4096), (4096, 8192, 4096)):
    add_gemm("bf16", m, n, k, product(m, n, k), gemm_bf16(m, n, k))
for m, n, k in ((32, 8192, 8192), (2048, 8192, 4096)):
    add_gemm("fp8_row", m, n, k, scaled(m, n, k, "{F8}", (m, 1), (n, 1)), gemm_fp8(m, n, k))
for m, n, k in ((32, 7168, 2048), (96, 7168, 2048), (384, 7168, 2048), (2048, 7168, 2048)):
    add_gemm("fp8_block", m, n, k, blocks(m, n, k), gemm_blocks(m, n, k))
for m, n, k in ((32, 8192, 8192), (2048, 8192, 4096)):
    add_gemm("mxfp4", m, n, k, scaled(m, n, k, "f4E2M1FN", (m, k // 32), (n, k // 32), "f8E8M0FNU"), gemm_mxfp4(m, n, k),
             chips=("gfx950",))


@pair("product", "M 2048, N 2 x 7168, K 4096, silu and mul", """(%x: tensor<2048x4096xbf16>, %w: tensor<14336x4096xbf16>) -> tensor<2048x7168xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<2048x4096xbf16>, tensor<14336x4096xbf16> -> tensor<2048x14336xf32>
  %o = hk.gated_activation silu %y : tensor<2048x14336xf32> -> tensor<2048x7168xbf16>
  return %o : tensor<2048x7168xbf16>
}""")
def gated_bf16(get, f8):
    get("gemm.basic.gemm_a16w16_gated").gemm_a16w16_gated(zeros(2048, 4096), zeros(14336, 4096), activation="silu")


@pair("product", "16 of M 512, N 512, K 1024", """(%x: tensor<16x512x1024xbf16>, %w: tensor<16x512x1024xbf16>) -> tensor<16x512x512xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<16x512x1024xbf16>, tensor<16x512x1024xbf16> -> tensor<16x512x512xbf16>
  return %y : tensor<16x512x512xbf16>
}""")
def batched_bf16(get, f8):
    get("gemm.batched.batched_gemm_bf16").batched_gemm_bf16(zeros(16, 512, 1024), zeros(16, 512, 1024), backend="triton")


def attention(b, h, g, s, d, mask):
    q, k = f"tensor<{b}x{s}x{h}x{d}xbf16>", f"tensor<{b}x{s}x{g}x{d}xbf16>"
    return f"""(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
  %o = hk.attention %q, %k, %v scale 0.088388 {mask} : {q}, {k}, {k} -> {q}
  return %o : {q}
}}"""


def add_prefill(b, h, g, s, d, causal):
    def call(get, f8):
        with torch.no_grad():
            get("attention.mha").flash_attn_func(zeros(b, s, h, d), zeros(b, s, g, d), zeros(b, s, g, d),
                                                 softmax_scale=0.088388, causal=causal)

    call.__name__ = f"prefill_{'causal' if causal else 'full'}_{s}"
    pair("attention", f"{b} x {s} tokens, {h} heads, {g} of keys, D {d}",
         attention(b, h, g, s, d, "causal" if causal else ""))(call)


add_prefill(1, 32, 8, 2048, 128, True)
add_prefill(1, 32, 8, 2048, 128, False)


def add_decode(b, h, g, s, d):
    pages = b * s // 16
    table = torch.arange(pages, dtype=I32).reshape(b, s // 16)

    def call(get, f8):
        import triton.language as tl
        one = torch.ones(1, dtype=F32)
        get("attention.pa_decode").paged_attention_decode(
            zeros(b, h, d), zeros(b, h, d), zeros(pages, g, 16, d), zeros(pages, g, 16, d), torch.full((b,), s, dtype=I32),
            table, 0.088388, s, tl.bfloat16, one, one)

    call.__name__ = f"decode_{b}_{s}"
    q, k = f"tensor<{b}x1x{h}x{d}xbf16>", f"tensor<{pages}x{g}x16x{d}xbf16>"
    t, p = f"tensor<{pages}x16x{g}x{d}xbf16>", "[0, 2, 1, 3]"
    pair("attention", f"{b} sequences of {s} keys in pages of 16, {h} heads, {g} of keys, D {d}",
         f"""(%q: {q}, %k: {k}, %v: {k}, %n: tensor<{b}xi32>, %t: tensor<{b}x{s // 16}xi32>) -> {q} {{
  %kt = hk.transpose %k {p} : {k} -> {t}
  %vt = hk.transpose %v {p} : {k} -> {t}
  %o = hk.attention %q, %kt, %vt kv_lens %n block_table %t scale 0.088388 : {q}, {t}, {t} kv_lens tensor<{b}xi32> block_table tensor<{b}x{s // 16}xi32> -> {q}
  return %o : {q}
}}""", [f"--range=n={s}:{s}", "--range=t=iota"])(call)


add_decode(64, 32, 8, 2048, 128)
add_decode(8, 32, 8, 8192, 128)


def sorted_experts(tokens, top_k, experts, block):
    """Places in the order of a balanced routing, in blocks of one expert each."""
    ids = torch.arange(tokens * top_k) % experts
    places, owners = [], []
    for expert in range(experts):
        mine = (ids == expert).nonzero().flatten().tolist()
        mine += [tokens * top_k] * (-len(mine) % block)
        places += mine
        owners += [expert] * (len(mine) // block)
    return torch.tensor(places, dtype=I32), torch.tensor(owners, dtype=I32)


def add_moe(tokens, experts, top_k, n, k):
    def configured(get):
        sizes = get("utils.moe_config_utils").get_optimal_moe_config(BF16, M=tokens)
        return dict(sizes)

    def call(get, f8):
        import triton.language as tl
        config = configured(get)
        places, owners = sorted_experts(tokens, top_k, experts, config["BLOCK_SIZE_M"])
        ids = (torch.arange(tokens * top_k, dtype=I32) % experts).reshape(tokens, top_k)
        get("moe.moe_op").fused_moe(
            zeros(tokens, k), zeros(experts, n, k), zeros(tokens, top_k, n), None, None, None,
            zeros(tokens, top_k, dtype=F32), ids, places, owners, torch.tensor([len(places)], dtype=I32), False, top_k,
            tl.bfloat16, False, False, False, config=config)

    call.__name__ = f"moe_{tokens}_{experts}"
    block = 16 if tokens <= 256 else 64
    places, owners = sorted_experts(tokens, top_k, experts, block)
    x, w = f"tensor<{tokens}x{k}xbf16>", f"tensor<{experts}x{n}x{k}xbf16>"
    s, e, y = f"tensor<{len(places)}xi32>", f"tensor<{len(owners)}xi32>", f"tensor<{tokens * top_k}x{n}xbf16>"
    pair("mixture of experts", f"{tokens} tokens, {top_k} of {experts} experts, N {n}, K {k}", f"""(%x: {x}, %w: {w}, %s: {s}, %e: {e}) -> {y} {{
  %y = hk.grouped_matmul %x, %w blocks %e order %s transpose_b block {block} top_k {top_k} : {x}, {w} groups {e} order {s} -> {y}
  return %y : {y}
}}""", [("s", places), ("e", owners)], about="a balanced routing; blocks of rows as each side likes them", sampled=False)(call)


add_moe(64, 8, 2, 4096, 4096)
add_moe(2048, 8, 2, 4096, 4096)


@pair("gated delta rule", "64 sequences, one token, 16 + 32 heads of 128", """(%q: tensor<64x1x16x128xbf16>, %k: tensor<64x1x16x128xbf16>, %v: tensor<64x1x32x128xbf16>, %g: tensor<64x1x32xf32>, %b: tensor<64x1x32xf32>, %s: tensor<64x32x128x128xf32> {hk.state}) -> (tensor<64x1x32x128xbf16>, tensor<64x32x128x128xf32>) {
  %o, %t = hk.gated_delta_rule %q, %k, %v decay %g beta %b state %s l2norm 1.0e-06 : tensor<64x1x16x128xbf16>, tensor<64x1x16x128xbf16>, tensor<64x1x32x128xbf16> decay tensor<64x1x32xf32> beta tensor<64x1x32xf32> state tensor<64x32x128x128xf32> -> tensor<64x1x32x128xbf16>, tensor<64x32x128x128xf32>
  return %o, %t : tensor<64x1x32x128xbf16>, tensor<64x32x128x128xf32>
}""")
def delta_decode(get, f8):
    get("gated_delta_net.gated_delta_rule").fused_recurrent_gated_delta_rule(
        zeros(64, 1, 16, 128), zeros(64, 1, 16, 128), zeros(64, 1, 32, 128), g=zeros(64, 1, 32, dtype=F32),
        beta=zeros(64, 1, 32, dtype=F32), initial_state=zeros(64, 32, 128, 128, dtype=F32), output_final_state=True,
        use_qk_l2norm_in_kernel=True)


PREFILL = """(%q: tensor<1x?x16x128xbf16>, %k: tensor<1x?x16x128xbf16>, %v: tensor<1x?x32x128xbf16>, %g: tensor<1x?x32xf32>, %beta: tensor<1x?x32xf32>, %s: tensor<1x32x128x128xf32> {hk.state}) -> (tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>) {
  %qn = hk.l2_norm %q epsilon 1.0e-06 : tensor<1x?x16x128xbf16>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x16x128xbf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x32xf32>
  %kkt = hk.chunk_kkt %kn decay %sum beta %beta chunk 64 : tensor<1x?x16x128xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x32x64xf32> -> tensor<1x?x32x64xbf16>
  %w, %u = hk.chunk_wu %kn, %v, %x decay %sum beta %beta : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x64xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16>
  %h, %v1, %s1 = hk.chunk_state %kn, %w, %u decay %sum state %s chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16> decay tensor<1x?x32xf32> state tensor<1x32x128x128xf32> -> tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>
  %o = hk.chunk_output %qn, %kn, %v1, %h decay %sum chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128x128xbf16> decay tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>
  return %o, %s1 : tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>
}"""


@pair("gated delta rule", "4096 tokens, 16 + 32 heads of 128", PREFILL,
      [f"--dim={name}.1=4096" for name in ("q", "k", "v", "g", "beta")])
def delta_prefill(get, f8):
    get("gated_delta_net.gated_delta_rule").chunk_gated_delta_rule(
        zeros(1, 4096, 16, 128), zeros(1, 4096, 16, 128), zeros(1, 4096, 32, 128), zeros(1, 4096, 32, dtype=F32),
        zeros(1, 4096, 32, dtype=F32), initial_state=zeros(1, 32, 128, 128, dtype=F32), output_final_state=True,
        use_qk_l2norm_in_kernel=True)


def module(chip, only):
    """hk's functions for a chip, in one module."""
    f8 = {"gfx942": "f8E4M3FNUZ", "gfx950": "f8E4M3FN"}[chip]
    return re.sub(r"\{F8\}", f8, "".join(c.mlir for c in CASES if chip in c.chips and re.search(only, c.name)))
