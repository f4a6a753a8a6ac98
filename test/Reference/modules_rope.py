"""Whole graphs of rotary embedding, and of what stands beside it before attention,
against NumPy formulas of what the module is for: written from its description, not from
its graph."""

import numpy as np

from formulas import angles, codes, compare, f32, finish, normal, rms, rng, rotated, to, written

T = 9
POSITIONS = np.array([3, 0, 63, -1, 17, 64, 5, 5, -2])  # some of them outside the tables


def offsets(*shape):
    return rng.integers(-3, 4, shape)


# rope: NEOX and GPT-J pairs, a part of a head in front or behind, angles of an element or
# a pair, positions with offsets, and the rotation back.
for name, dtype, heads, size, table, kind, options in [
        ("neox", "bf16", 4, 64, 32, "f32", {}), ("gptj_partial", "f16", 2, 80, 16, "f16", {"neox": False}),
        ("neox_partial_r6", "f32", 2, 10, 3, "f32", {}),
        ("gptj_nope_first_r10", "bf16", 3, 24, 5, "bf16", {"neox": False, "nope_first": True}),
        ("gptj_own_angles", "bf16", 8, 128, 128, "f32", {"neox": False, "own": True}),
        ("neox_nope_first_inverse", "bf16", 2, 96, 24, "bf16", {"nope_first": True, "inverse": True}),
        ("neox_own_angles_inverse", "bf16", 2, 64, 64, "f32", {"own": True, "inverse": True}),
        ("gptj_own_angles_inverse", "f32", 2, 64, 64, "f32", {"neox": False, "own": True, "inverse": True})]:
    x, cos, sin = normal(dtype, T, heads, size), normal(kind, 64, table), normal(kind, 64, table)
    y = rotated(x, angles(cos, POSITIONS), angles(sin, POSITIONS), **options)
    compare("rope", name, [x, cos, sin, POSITIONS.astype(np.int32)], to(dtype, y))
x, cos, sin, off = normal("bf16", T, 8, 64), normal("bf16", 64, 64), normal("bf16", 64, 64), offsets(T)
at = POSITIONS + off
compare("rope", "neox_offsets_own_angles", [x, cos, sin, POSITIONS, off],
        to("bf16", rotated(x, angles(cos, at), angles(sin, at), own=True)))

# Both channels of a group of heads; angles whose cosines are taken here.
k, cos, sin = normal("bf16", T, 2, 64), normal("f32", 64, 32), normal("f32", 64, 32)
compare("rope", "two_channels", [x, k, cos, sin, POSITIONS, off],
        [to("bf16", rotated(h, angles(cos, at), angles(sin, at))) for h in (x, k)])
freqs = normal("bf16", 64, 64, scale=9.0)
cos, sin = angles(np.cos(freqs), POSITIONS), angles(np.sin(freqs), POSITIONS)
compare("rope", "two_channels_from_angles", [x, k, freqs, POSITIONS],
        [to("bf16", rotated(h, cos, sin, neox=False, own=True)) for h in (x, k)])
x, inv, far = normal("f32", T, 2, 64), normal("f32", 32), rng.integers(0, 2**20, (T, 1))
angle = f32(far * inv)
compare("rope", "angles_from_positions", [x, inv, far], rotated(x, np.cos(angle), np.sin(angle)))

# [S, B, H, D]: the angles of a step are its number's, or those of a position per entry.
x, freqs = normal("bf16", T, 2, 8, 64), normal("f32", 64, 32, scale=9.0)
step = np.arange(T)[:, None].repeat(2, 1)
compare("rope", "sbhd_from_angles", [x, freqs], rotated(x, np.cos(freqs)[step], np.sin(freqs)[step]))
cos, sin = normal("bf16", 64, 16), normal("bf16", 64, 16)
compare("rope", "sbhd_cached_partial", [x, cos, sin], to("bf16", rotated(x, cos[step], sin[step])))
x, k = normal("bf16", T, 2, 4, 64), normal("bf16", T, 2, 2, 64)
cos, sin, pos, off = normal("bf16", 64, 32), normal("bf16", 64, 32), rng.integers(0, 64, (T, 2)), offsets(T, 2)
compare("rope", "sbhd_positions_offsets", [x, k, cos, sin, pos, off],
        [to("bf16", rotated(h, angles(cos, pos + off), angles(sin, pos + off), neox=False)) for h in (x, k)])
x, freqs = normal("f16", T, 3, 2, 64), normal("f32", 64, 64)
step = np.arange(T)[:, None].repeat(3, 1)
compare("rope", "transposed_output", [x, freqs],
        rotated(x, np.cos(freqs)[step], np.sin(freqs)[step], own=True).swapaxes(0, 1))

# Packed sequences: the place of a token in its own; one of them is empty, and the last
# tokens are of none.
x, freqs, bounds = normal("bf16", 12, 4, 64), normal("f32", 64, 32, scale=9.0), [0, 5, 5, 10]
place = np.concatenate([np.arange(e - b) for b, e in zip(bounds, bounds[1:])] + [np.full(2, -1)])
y = rotated(x, angles(np.cos(freqs), place), angles(np.sin(freqs), place))
compare("rope", "ragged", [x, freqs, np.array(bounds)], to("bf16", y))
x, cos, sin, bounds = normal("bf16", 33, 4, 64), normal("bf16", 64, 16), normal("bf16", 64, 16), [0, 7, 7, 8, 30]
place = np.concatenate([np.arange(e - b) for b, e in zip(bounds, bounds[1:])] + [np.full(3, -1)])
y = rotated(x, angles(cos, place), angles(sin, place), neox=False, inverse=True)
compare("rope", "ragged_constant", [x, cos, sin], to("bf16", y))

# An image: one half of a head by the row, the other by the column.
for name, dtype, height, width, size in [("image_4_8", "f16", 4, 8, 64), ("image_3_5", "f32", 3, 5, 24)]:
    x = normal(dtype, 2, height * width, 2, size)
    ch, sh = normal(dtype, height + 2, size // 2), normal(dtype, height + 2, size // 2)
    cw, sw = normal(dtype, width + 1, size // 2), normal(dtype, width + 1, size // 2)
    row, column = np.divmod(np.arange(height * width), width)
    first, second = np.split(x, 2, -1)
    y = [rotated(first, ch[row], sh[row], own=True), rotated(second, cw[column], sw[column], own=True)]
    compare("rope", name, [x, ch, sh, cw, sw], to(dtype, np.concatenate(y, -1)))

# Three positions per token: each frequency is of one of them, in sections or in turn.
x, cos, sin = normal("bf16", T, 4, 64), normal("f32", 64, 32), normal("f32", 64, 32)
pos = rng.integers(0, 64, (3, T))
in_turn = np.array([i % 3 if i < 3 * 8 else 0 for i in range(32)])
for name, which in [("sections", np.repeat([0, 1, 2], [8, 12, 12])), ("sections_interleaved", in_turn)]:
    of_token = pos[which].T  # [T, 32]
    y = rotated(x, cos[of_token, np.arange(32)], sin[of_token, np.arange(32)])
    compare("rope", name, [x, cos, sin, pos.astype(np.int32)], to("bf16", y))


# A video: pairs are complex numbers, bands of them are of the frame, the row and the
# column; what lies behind the grid is not rotated.
def video(x, table, token, grid):
    """[B, L, N, C], complex factors [positions, C / 2], tokens' numbers and (F, H, W)."""
    band = table.shape[1] // 3
    z, y = x[..., 0::2] + 1j * x[..., 1::2], x.copy()
    for b, l in np.ndindex(x.shape[:2]):
        f, h, w = grid[:, b, l]
        n = token[b, l]
        if n < f * h * w:
            first, second = table.shape[1] - 2 * band, table.shape[1] - band
            rows = table[[n // (h * w), n // w % h, n % w]]
            turned = z[b, l] * np.concatenate([rows[0, :first], rows[1, first:second], rows[2, second:]])
            y[b, l, :, 0::2], y[b, l, :, 1::2] = turned.real, turned.imag
    return y


x, cos, sin = normal("f32", 2, 24, 2, 128), normal("f32", 64, 64), normal("f32", 64, 64)
grid = np.broadcast_to(np.array([2, 3, 4])[:, None, None], (3, 2, 24))
token = np.broadcast_to(np.arange(24), (2, 24))
compare("rope", "video_2_3_4", [x, cos, sin], f32(video(x, cos + 1j * sin, token, grid)))
x, cos, sin = normal("f32", 3, 20, 2, 40), normal("f32", 64, 20), normal("f32", 64, 20)
grid, token = rng.integers(1, 5, (3, 3, 1)).repeat(20, 2), np.arange(20) + np.array([[0], [20], [7]])
compare("rope", "video_grid", [x, cos, sin, token, grid], f32(video(x, cos + 1j * sin, token, grid)))


# fused_qk_concat.
for name, dtype, heads, kv, first, second in [
        ("mha_64_64", "bf16", 4, 4, 64, 64), ("mla_512_64", "f16", 16, 1, 512, 64), ("odd_13_7", "f32", 3, 1, 13, 7)]:
    q1, q2 = normal(dtype, T, heads, first), normal(dtype, T, heads, second)
    k1, k2 = normal(dtype, T, kv, first), normal(dtype, T, kv, second)
    compare("fused_qk_concat", name, [q1, q2, k1.reshape(T, -1), k2.reshape(T, -1)],
            [np.concatenate([q1, q2], -1), np.concatenate([k1, k2], -1)], exact=True)
for name, dtype, heads, kv, size, kind, options in [("rope", "bf16", 8, 1, 128, "f32", {"neox": False}),
                                                    ("rope_own_angles", "f16", 4, 4, 64, "f16", {"own": True})]:
    q1, q2, k1, k2 = (normal(dtype, T, h, d) for h, d in ((heads, 512), (heads, size), (kv, 512), (kv, size)))
    cos, sin = normal(kind, 64, 64), normal(kind, 64, 64)
    qr, kr = (to(dtype, rotated(h, angles(cos, POSITIONS), angles(sin, POSITIONS), **options)) for h in (q2, k2))
    compare("fused_qk_concat", name, [q1, q2, k1.reshape(T, -1), k2.reshape(T, -1), cos, sin, POSITIONS],
            [np.concatenate([q1, qr], -1), np.concatenate([k1, kr], -1)])
q, k = normal("bf16", T, 2, 96), normal("bf16", T, 100)
compare("fused_qk_concat", "slices", [q, k], [np.concatenate([q[..., :64], q[..., 80:]], -1),
                                              np.concatenate([k[:, None, :64], k[:, None, 84:]], -1)], exact=True)

# fused_qkv_split_qk_rope: all heads of q, then of k, then of v.
for name, dtype, heads, kv, size, table, kind, options in [
        ("neox_gqa", "bf16", 16, 4, 128, 64, "bf16", {}), ("gptj_offsets", "f16", 8, 1, 64, 32, "f32", {"neox": False}),
        ("neox_nope_first", "bf16", 4, 4, 128, 32, "bf16", {"nope_first": True}),
        ("gptj_nope_own_angles", "bf16", 2, 2, 64, 32, "bf16", {"neox": False, "own": True}),
        ("odd_80", "f32", 3, 1, 80, 12, "f32", {})]:
    qkv = normal(dtype, T, heads + 2 * kv, size)
    cos, sin, off = normal(kind, 64, table), normal(kind, 64, table), offsets(T)
    at, extra = (POSITIONS + off, [off]) if name == "gptj_offsets" else (POSITIONS, [])
    q, k, v = np.split(qkv, [heads, heads + kv], 1)
    q, k = (to(dtype, rotated(h, angles(cos, at), angles(sin, at), **options)) for h in (q, k))
    compare("fused_qkv_split_qk_rope", name, [qkv.reshape(T, -1), cos, sin, POSITIONS] + extra, [q, k, v])
qkv, cos, sin = normal("bf16", T, 960), normal("bf16", 64, 40), normal("bf16", 64, 40)
groups = qkv.reshape(T, 2, 6, 80)
q, k = groups[:, :, :4].reshape(T, 8, 80), groups[:, :, 4]
q, k = (rotated(h, angles(cos, POSITIONS), angles(sin, POSITIONS)) for h in (q, k))
compare("fused_qkv_split_qk_rope", "interleaved_groups", [qkv, cos, sin, POSITIONS],
        [to("bf16", q), to("bf16", k), groups[:, :, 5]])

SLOTS = rng.permutation(40)[:T]
SLOTS[[2, 5]] = -1


def head_major(cache):
    return cache.swapaxes(1, 2)


def transposed(cache):
    return cache.transpose(0, 2, 3, 1)


def key_chunks(cache, bytes_of_element=2):
    """vLLM: [blocks, heads, D / x, block, x] with 16 bytes of a head together."""
    blocks, block, heads, size = cache.shape
    x = 16 // bytes_of_element
    return cache.reshape(blocks, block, heads, size // x, x).transpose(0, 2, 3, 1, 4)


def value_chunks(cache):
    """[blocks, heads, block / 8, D, 8]."""
    blocks, block, heads, size = cache.shape
    return cache.reshape(blocks, block // 8, 8, heads, size).transpose(0, 3, 1, 4, 2)


# Groups of three queries with their gates, k and v: norms of the heads, a part rotated.
qkv = normal("bf16", T, 2, 8, 128)
qw, kw, cos, sin = normal("bf16", 128), normal("bf16", 128), normal("bf16", 64, 16), normal("bf16", 64, 16)
kc, vc = normal("bf16", 3, 16, 2, 128), normal("bf16", 3, 16, 2, 128)
q, gate = qkv[:, :, 0:6:2].reshape(T, 6, 128), qkv[:, :, 1:6:2].reshape(T, 6, 128)
qr, kr = (rotated(to("bf16", rms(h, w)), angles(cos, POSITIONS), angles(sin, POSITIONS))
          for h, w in ((q, qw), (qkv[:, :, 6], kw)))
compare("fused_qkv_split_qk_rope", "norm_gate_cache",
        [qkv.reshape(T, -1), qw, kw, cos, sin, POSITIONS, SLOTS, head_major(kc), head_major(vc)],
        [qr, gate, kr, head_major(written(kc, kr, SLOTS)), head_major(written(vc, qkv[:, :, 7], SLOTS))])

# fused_kv_cache.
plain = lambda cache: cache
for name, dtype, heads, kv, size, table, kind, blocks, block, key_layout, value_layout, options in [
        ("paged", "bf16", 8, 2, 64, 32, "f32", 4, 16, plain, plain, {}),
        ("head_major_offsets", "bf16", 4, 4, 128, 64, "bf16", 2, 32, head_major, head_major, {"neox": False}),
        ("vllm_f16", "f16", 8, 2, 64, 32, "f32", 4, 16, key_chunks, transposed, {}),
        ("shuffled_values", "bf16", 4, 1, 64, 32, "f32", 2, 16, key_chunks, value_chunks, {}),
        ("odd_sizes", "f32", 3, 1, 80, 12, "f32", 5, 7, plain, transposed, {}),
        ("odd_head_major", "bf16", 2, 2, 20, 5, "f32", 3, 5, head_major, head_major, {"nope_first": True})]:
    q, k, v = normal(dtype, T, heads, size), normal(dtype, T, kv, size), normal(dtype, T, kv, size)
    cos, sin, off = normal(kind, 64, table), normal(kind, 64, table), offsets(T)
    at, extra = (POSITIONS + off, [off]) if "offsets" in name else (POSITIONS, [])
    slots = np.where(SLOTS < blocks * block, SLOTS, -1)
    kc, vc = normal(dtype, blocks, block, kv, size), normal(dtype, blocks, block, kv, size)
    qr, kr = (to(dtype, rotated(h, angles(cos, at), angles(sin, at), **options)) for h in (q, k))
    compare("fused_kv_cache", name, [q, k, v, cos, sin, POSITIONS] + extra + [slots, key_layout(kc), value_layout(vc)],
            [qr] + [kr] * (name != "paged") + [key_layout(written(kc, kr, slots)), value_layout(written(vc, v, slots))])

# In fp8 the rotated key is scaled before it is rounded.
for name, kind, size, blocks, key_layout, value_layout in [
        ("fp8", "f8E4M3FN", 64, 4, plain, plain),
        ("fp8_fnuz_vllm", "f8E4M3FNUZ", 128, 2, lambda c: key_chunks(c, 1), transposed)]:
    q, k, v = normal("bf16", T, 8, size), normal("bf16", T, 2, size), normal("bf16", T, 2, size)
    cos, sin, ks, vs = normal("f32", 64, size // 2), normal("f32", 64, size // 2), f32([0.375]), f32([0.011])
    kc, vc = normal(kind, blocks, 16, 2, size), normal(kind, blocks, 16, 2, size)
    slots = np.where(SLOTS < blocks * 16, SLOTS, -1)
    qr, kr = (rotated(h, angles(cos, POSITIONS), angles(sin, POSITIONS)) for h in (q, k))
    compare("fused_kv_cache", name, [q, k, v, cos, sin, POSITIONS, ks, vs, slots, key_layout(kc), value_layout(vc)],
            [to("bf16", qr)] + [to("bf16", kr)] * (name == "fp8") +
            [key_layout(written(kc, codes(kr, ks, kind), slots)), value_layout(written(vc, codes(v, vs, kind), slots))])
q, qw, kw = normal("bf16", T, 12, 64), normal("bf16", 64), normal("bf16", 64)
cos, sin, ks, vs = normal("f32", 64, 32), normal("f32", 64, 32), np.array([0.375]), np.array([0.25])
kc, vc = normal("f8E4M3FN", 4, 16, 2, 64), normal("f8E4M3FN", 4, 16, 2, 64)
qr, kr = (rotated(to("bf16", rms(h, w)), angles(cos, POSITIONS), angles(sin, POSITIONS))
          for h, w in ((q[:, :8], qw), (q[:, 8:10], kw)))
compare("fused_kv_cache", "norm_rope_fp8", [q.reshape(T, -1), qw, kw, cos, sin, POSITIONS, ks, vs, SLOTS, kc, vc],
        [qr, written(kc, codes(kr, ks, "f8E4M3FN"), SLOTS), written(vc, codes(q[:, 10:], vs, "f8E4M3FN"), SLOTS)])

# Keys of a tail, rotated before (position -1), and zeros for what attention adds up.
q, k, v = normal("bf16", T, 8, 64), normal("bf16", T, 2, 64), normal("bf16", T, 2, 64)
kc, vc, tail = normal("bf16", 4, 16, 2, 64), normal("bf16", 4, 16, 2, 64), np.where(np.arange(T) < 6, POSITIONS, -1)
qr, kr = (to("bf16", rotated(h, angles(cos, tail), angles(sin, tail))) for h in (q, k))
assert (kr[6:] == k[6:]).all()
compare("fused_kv_cache", "zeros_and_tail", [q, k, v, cos, sin, tail, SLOTS, kc, vc],
        [qr, kr, np.zeros(q.shape), written(kc, kr, SLOTS), written(vc, v, SLOTS)])
# A token without a slot has no rotated key either.
kept = normal("bf16", 1, T, 2, 64)
qr, kr = (to("bf16", rotated(h, angles(cos, POSITIONS), angles(sin, POSITIONS))) for h in (q, k))
compare("fused_kv_cache", "skipped_tokens", [q, k, v, cos, sin, POSITIONS, np.arange(T), SLOTS, kept, kc, vc],
        [qr, np.where(SLOTS[None, :, None, None] >= 0, kr[None], kept), written(kc, kr, SLOTS), written(vc, v, SLOTS)])

# Latent attention: q and k have a part that is not rotated before the one that is.
def latent(cos, sin, **options):
    return (to("bf16", rotated(h, angles(cos, POSITIONS), angles(sin, POSITIONS), **options)) for h in (qp, kp))


q, qp, k, kp = (normal("bf16", T, h, d) for h, d in ((16, 512), (16, 64), (1, 512), (1, 64)))
qr, kr = latent(cos, sin, neox=False)
rows, kc = np.concatenate([k, kr], -1), normal("f8E4M3FN", 4, 16, 1, 576)
compare("fused_kv_cache", "latent", [q, qp, k, kp, cos, sin, POSITIONS, ks, SLOTS, kc],
        [np.concatenate([q, qr], -1), kr, written(kc, codes(rows, ks, "f8E4M3FN"), SLOTS)])
kc = normal("bf16", 64, 1, 1, 576)
compare("fused_kv_cache", "latent_zeros", [q, qp, k, kp, cos, sin, POSITIONS, SLOTS, kc],
        [np.concatenate([q, qr], -1), qr, kr, np.zeros(q.shape), written(kc, rows, SLOTS)])
cos, sin, kc = normal("bf16", 64, 64), normal("bf16", 64, 64), normal("bf16", 4, 16, 1, 576)
qr, kr = latent(cos, sin, own=True)
compare("fused_kv_cache", "latent_fp8_query", [q, qp, k, kp, cos, sin, POSITIONS, SLOTS, head_major(kc)],
        [to("f8E4M3FN", np.concatenate([q, qr], -1)), qr, kr,
         head_major(written(kc, np.concatenate([k, kr], -1), SLOTS))])

# Nothing rotated.
k, v, kc, vc = (normal("bf16", *s) for s in ((T, 2, 128), (T, 2, 128), (3, 16, 2, 128), (3, 16, 2, 128)))
compare("fused_kv_cache", "copy_128_16", [k.reshape(T, 256), v, SLOTS, kc, vc],
        [written(kc, k, SLOTS), written(vc, v, SLOTS)], exact=True)
k, v, ks, vs = normal("f16", T, 1, 64), normal("f16", T, 1, 64), f32([0.3]), f32([0.011])
kc, vc = normal("f8E4M3FNUZ", 2, 8, 1, 64), normal("f8E4M3FNUZ", 2, 8, 1, 64)
slots = np.where(SLOTS < 16, SLOTS, -1)
compare("fused_kv_cache", "copy_vllm_fp8", [k, v, ks, vs, slots, key_chunks(kc, 1), transposed(vc)],
        [key_chunks(written(kc, codes(k, ks, "f8E4M3FNUZ"), slots), 1),
         transposed(written(vc, codes(v, vs, "f8E4M3FNUZ"), slots))], exact=True)

# Queries times the keys' weights beside their rotated part, latent keys into their cache.
for name, heads, kv, size, latent, part, options in [
        ("latent", 4, 1, 32, 64, 16, {}), ("key_per_head", 2, 2, 40, 72, 8, {"neox": False}), ("odd", 3, 1, 13, 20, 6, {}),
        ("fp4_weights", 2, 1, 64, 64, 16, {}), ("fp8_weights_and_cache", 2, 1, 64, 64, 16, {})]:
    q, qp, kn, kp = (normal("bf16", T, *s) for s in ((heads, size), (heads, part), (kv, latent), (kv, part)))
    cos, sin = normal("f32", 64, part // 2), normal("f32", 64, part // 2)
    cached = "f8E4M3FN" if name.startswith("fp8") else "bf16"
    cache, extra = normal(cached, 4, 16, kv, latent + part), []
    if name.startswith("fp4"):
        w, ws = normal("f4E2M1FN", heads, latent, size), 2.0 ** rng.integers(-3, 4, (heads, latent, size // 32))
        weights, meant = [w, ws], w * np.repeat(ws, 32, -1)
    elif name.startswith("fp8"):
        w, ws, cs = normal("f8E4M3FN", heads, latent, size), np.array([0.5]), np.array([0.375])
        weights, meant, extra = [w, ws], w * ws, [cs]
    else:
        w = normal("bf16", heads, latent, size)
        weights, meant = [w], w
    absorbed = to("bf16", np.einsum("bhp,hlp->bhl", q, meant))
    qr, kr = (to("bf16", rotated(h, angles(cos, POSITIONS), angles(sin, POSITIONS), **options)) for h in (qp, kp))
    k = np.concatenate([kn, kr], -1)
    compare("fused_bmm_rope_kv_cache", name, [q] + weights + [qp, kn, kp, cos, sin, POSITIONS, SLOTS] + extra + [cache],
            [np.concatenate([absorbed, qr], -1),
             written(cache, codes(k, extra[0], cached) if extra else k, SLOTS)])

finish("fused_bmm_rope_kv_cache", "rope", "fused_qk_concat", "fused_qkv_split_qk_rope", "fused_kv_cache")
