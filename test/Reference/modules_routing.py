"""Whole graphs of selection and of the routing of a mixture of experts against NumPy
formulas of what the module is for: written from its description, not from its graph."""

import numpy as np

from formulas import at, best, bits_of, by_id, compare, f32, finish, normal, padded, placed, rng, sigmoid, softmax, to


def ties(dtype, *shape):
    """Whole numbers: many are equal."""
    return to(dtype, rng.integers(-4, 5, shape))


def offsets(counts):
    return np.concatenate([[0], np.cumsum(counts)])


# topk.
for name, dtype, shape, k, highest, in_order in [
        ("n16_k2", "f32", (5, 16), 2, False, False), ("n128_k8", "bf16", (5, 128), 8, False, False),
        ("n1024_k32", "f16", (5, 1024), 32, True, False), ("n4096_k1", "f32", (3, 4096), 1, False, False),
        ("n781_k5", "bf16", (5, 781), 5, True, True), ("n9001_k7", "f32", (3, 9001), 7, True, True),
        ("n300_k300", "f32", (3, 300), 300, False, False), ("rank3", "f32", (4, 3, 40), 4, False, False)]:
    for x in (ties(dtype, *shape), normal(dtype, *shape)):
        ids = by_id(x, k) if in_order else best(x, k, highest)
        compare("topk", name, [x], [at(x, ids), ids], exact=True)
x = ties("f32", 4, 4000)
compare("topk", "argmax", [x], x.argmax(-1)[:, None], exact=True)
x = normal("f32", 4, 3000)  # five numbers, put behind 2995 of -inf
few, ids = -np.sort(-x[:, :5], -1), np.tile([0, 0, 0, 0, 0, 0, 1, 2], (4, 1))
ids[:, :5] = 2995 + best(x[:, :5], 5)
compare("topk", "fewer_finite_than_k", [x], [padded(few, 8, -np.inf), ids], exact=True)
x = np.full((2, 16), np.nan)  # NaN is the largest, and every place is there once
x[1, ::2] = [np.inf, 1, -np.inf, 3, np.inf, 0, 0, 0]
compare("topk", "n16_k2", [x], [np.full((2, 2), np.nan), np.array([[0, 1], [1, 3]])], exact=True)
x = ties("f32", 2, 5003)
ids = best(x, 2048)
compare("topk_indexer", "by_value", [x], [at(x, ids), ids], exact=True)
ids = by_id(x, 40)
compare("topk_indexer", "by_index", [x], [at(x, ids), ids], exact=True)
x = ties("f32", 2, 100)  # fewer than are wanted
ids = best(x, 100)
compare("topk_indexer", "by_value", [x], [padded(at(x, ids), 2048, -np.inf), padded(ids, 2048, -1)], exact=True)
x = ties("f32", 1, 131072)
ids = best(x, 8)
compare("topk_long", "vocabulary", [x], [at(x, ids), ids], exact=True)

# moe_topk: a softmax of the selected, in the order of the experts.
for name, dtype, experts, k in [("e128_k4", "bf16", 128, 4), ("e128_k6", "f16", 128, 6), ("e128_k32", "f32", 128, 32),
                                ("e1500_k8", "f32", 1500, 8), ("e8_k2", "f32", 8, 2), ("ids_i16", "bf16", 128, 4)]:
    for x in (ties(dtype, 9, experts), normal(dtype, 9, experts)):
        ids = by_id(x, k)
        compare("moe_topk", name, [x], [softmax(at(x, ids)), ids, bits_of(ids, experts)])


def renormalised(weights, factor=1.0):
    return weights / (weights.sum(-1, keepdims=True) + 1e-20) * factor


def sqrt_softplus(x):
    return np.sqrt(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def limited(scores, groups, kept, score):
    """-inf outside the `kept` best groups of neighbours; of equal ones the first."""
    parts = -np.sort(-scores.reshape(len(scores), groups, -1), -1)
    of_group = parts[..., 0] if score == "maximum" else f32(parts[..., 0] + parts[..., 1])
    open_ = np.array([[g in row for g in range(groups)] for row in best(of_group, kept)])
    return np.where(np.repeat(open_, scores.shape[1] // groups, -1), scores, -np.inf)


x = normal("f32", 9, 256)
p = softmax(x)
ids = best(p, 8)
compare("moe_topk", "softmax_first", [x], [renormalised(at(p, ids)), ids])
x, bias = normal("bf16", 9, 256), normal("f32", 256)
p = sigmoid(x)
ids = best(p + bias, 8)
compare("moe_topk", "sigmoid_bias", [x, bias], [renormalised(at(p, ids), 2.5), ids])
x = normal("f32", 9, 256)
p = sigmoid(x)
ids = best(limited(p + bias, 8, 4, "top2_sum"), 8)
compare("moe_topk", "grouped", [x, bias], [renormalised(at(p, ids), 2.5), ids])
x = ties("f32", 9, 160)
open_ = limited(x, 8, 3, "maximum")
ids = best(open_, 6)
compare("moe_topk", "grouped_max", [x], [at(open_, ids), ids], exact=True)
x = ties("bf16", 9, 256)
open_ = limited(x, 8, 4, "top2_sum")
compare("moe_topk", "grouped_exact", [x], [open_, best(open_, 8)], exact=True)
x = normal("f32", 9, 128)
ids = by_id(sqrt_softplus(x), 6)
compare("moe_topk", "sqrt_softplus", [x], [renormalised(at(sqrt_softplus(x), ids)), ids])
x, bias = normal("bf16", 9, 128), normal("f32", 128)
ids = by_id(sqrt_softplus(x) + bias, 6)
compare("moe_topk", "sqrt_softplus_bias", [x, bias], [renormalised(at(sqrt_softplus(x), ids), 1.5), ids])
x = normal("f32", 9, 64)
compare("moe_topk", "scores_and_shared", [x], [softmax(x), padded(best(softmax(x), 6), 7, 64)])
x, group = ties("f32", 9, 64), rng.integers(0, 4, 64)
of_group = np.stack([np.where(group == g, x, -np.inf).max(-1) for g in range(4)], -1)
open_ = np.array([[g in row for g in group] for row in best(of_group, 2)])
open_ = np.where(open_, x, -np.inf)
ids = best(open_, 4)
compare("moe_topk", "grouped_by_table", [x, group.astype(np.int32)], [at(open_, ids), ids], exact=True)

# moe_topk_hash: experts by a table of tokens; outside it there is a row of zeros, and
# outside the experts a weight of zero.
table, token = rng.integers(-2, 71, (100, 4)), rng.integers(0, 100, 9)
token[[2, 5]] = [-1, 100]
ids = np.where(((token >= 0) & (token < 100))[:, None], table[token % 100], 0)
inside = (ids >= 0) & (ids < 64)
x = normal("f32", 9, 64)
compare("moe_topk_hash", "hash", [x, table, token], [np.where(inside, at(softmax(x), ids % 64), 0), ids])
x = normal("bf16", 9, 64)
weights = np.where(inside, at(sqrt_softplus(x), ids % 64), 0)
compare("moe_topk_hash", "sqrt_softplus", [x, table, token], [renormalised(weights, 2.5), ids, bits_of(ids, 64)])

# moe_align_block_size: copies in the order of their experts; -1 is on another device.
for name, tokens, k, experts, block in [("few", 11, 2, 8, 16), ("many", 9, 12, 224, 128), ("two_experts", 5, 1, 2, 16),
                                        ("experts48_block64", 16, 4, 48, 64), ("experts384_top8", 20, 8, 384, 32)]:
    ids = rng.integers(-1, experts, (tokens, k))
    order, _, experts_of, used = placed(ids.reshape(-1), experts, block)
    compare("moe_align_block_size", name, [ids], [order, experts_of, np.array([used])], exact=True)
ids, table = rng.integers(0, 32, (9, 2)), np.full(32, -1)
table[rng.choice(32, 8, replace=False)] = np.arange(8)
order, _, experts_of, used = placed(table[ids.reshape(-1)], 8, 16)
compare("moe_align_block_size", "expert_map", [ids, table], [order, experts_of, np.array([used])], exact=True)

# moe_bitmatrix: rows of each expert, and those before each block of rows.
for name, tokens, experts in [("experts128", 21, 128), ("experts8", 21, 8), ("experts1500", 5, 1500),
                              ("partials_128", 70, 128), ("partials_8_block_5", 21, 8), ("partials_static", 70, 1500)]:
    members = rng.random((tokens, experts)) < 0.2
    block = 5 if name == "partials_8_block_5" else 32
    before = [members[:block * t].sum(0) for t in range(-(-tokens // block))]
    compare("moe_bitmatrix", name, [bits_of([np.flatnonzero(row) for row in members], experts)],
            [members.sum(0)] + [np.array(before)] * name.startswith("partials"), exact=True)


# moe_expt_data: where tokens and tiles of each expert begin, and whose a tile is.
def tiles(hist, block, size):
    entries = [(t << 16) | e for e, n in enumerate(hist) for t in range(-(-n // block))]
    return [offsets(hist), offsets(-(-hist // block)), np.array((entries + [-1] * size)[:size])]


for name, experts, block, size in [("main", 128, 16, 700), ("experts8_block128", 8, 128, 12),
                                   ("experts256_block64", 256, 64, 530), ("experts1500_block32", 1500, 32, 5000)]:
    hist = rng.integers(0, 71, experts)
    compare("moe_expt_data", name, [hist], tiles(hist, block, size), exact=True)
members = rng.random((16, 128)) < 0.04
hist = members.sum(0)
experts_of = [e for e in range(128) if hist[e]]
compare("moe_expt_data", "from_bits_one_tile", [bits_of([np.flatnonzero(row) for row in members], 128)],
        [hist, offsets(hist), offsets(hist > 0), np.array((experts_of + [-1] * 64)[:64])], exact=True)


# moe_routing: gather holds the copies in the order of their experts, scatter the places
# of the copies.
def routed(ids, experts, weights=None, block=None):
    flat = ids.reshape(-1)
    gather, scatter, _, _ = placed(flat, experts)
    hist = np.array([(flat == e).sum() for e in range(experts)])
    sorted_weights = [] if weights is None else [np.append(weights.reshape(-1), 0)[gather]]
    places = 0 if block is None else -(-(len(flat) + experts * (block - 1)) // block)
    return [gather, scatter] + sorted_weights + [hist] + (tiles(hist, block, places) if block else [offsets(hist)])


x = normal("f32", 20, 128)
ids = by_id(x, 4)
compare("moe_routing", "from_ids", [x], routed(ids, 128, softmax(at(x, ids)), 32))
x = ties("f32", 20, 128)
ids = by_id(x, 4)
compare("moe_routing", "from_bits", [x], routed(ids, 128), exact=True)
x = ties("bf16", 20, 128)
gather, scatter, hist, raw = routed(by_id(x, 4), 128)
compare("moe_routing", "partials_and_u16", [x], [gather, scatter, hist, np.zeros((1, 128)), raw], exact=True)
x = rng.permuted(np.tile(np.arange(256) / 32, (20, 1)), axis=1)  # far apart: noise decides nothing
p = softmax(x)
ids = by_id(p, 8)
compare("moe_routing", "softmax_first_e256", [x], routed(ids, 256, at(p, ids), 16))
x = normal("bf16", 20, 8)
ids = by_id(x, 2)
compare("moe_routing", "e8_k2", [x], routed(ids, 8, softmax(at(x, ids)), 128))
x, bias = normal("bf16", 9, 64), normal("f32", 64)
p = sigmoid(x)
ids = best(limited(p + bias, 8, 4, "top2_sum"), 6)
compare("moe_routing", "grouped_sigmoid", [x, bias], routed(ids, 64, renormalised(at(p, ids), 2.5)))
ids, weights = rng.integers(-1, 128, (20, 4)), normal("f32", 20, 4)
compare("moe_routing_ids", "main", [ids, weights], routed(ids, 128, weights, 32), exact=True)
compare("moe_routing_ids", "ids_i16", [ids.astype(np.int16), weights], routed(ids, 128, weights)[:4], exact=True)
x = normal("bf16", 16, 64)  # the least popular of five is dropped
five = best(x, 5)
popular = np.bincount(five.reshape(-1), minlength=64)[five]
dropped = [min(range(5), key=lambda j: (row[j], -j)) for row in popular]
ids = np.array([np.delete(row, j) for row, j in zip(five, dropped)])
gather, scatter, hist, _ = routed(ids, 64)
compare("moe_routing_herd", "main", [x], [softmax(at(x, ids)), ids, gather, scatter, hist])

finish("topk", "topk_indexer", "topk_long", "moe_topk", "moe_topk_hash", "moe_align_block_size", "moe_bitmatrix",
       "moe_expt_data", "moe_routing", "moe_routing_ids", "moe_routing_herd")
