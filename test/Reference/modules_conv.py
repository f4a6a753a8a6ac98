"""Whole graphs of the causal convolutions, splits, prefix sums and indices of gated delta
rule layers against NumPy formulas of what the module is for: written from its
description, not from its graph."""

import numpy as np

from formulas import compare, convolve, finish, normal, rng, silu


def first(x):
    """Channels before time."""
    return x.swapaxes(-1, -2)


def nothing(w):
    return np.zeros((w.shape[1] - 1, len(w)))


# Dense sequences, channels last and first.
for module, name, dtype, kind, channels, width, bias_kind, turn, act in [
        ("causal_conv1d", "bias_silu", "bf16", "bf16", 256, 4, "bf16", np.copy, silu),
        ("causal_conv1d", "width_2_f32_odd", "f32", "f32", 67, 2, "f32", np.copy, silu),
        ("causal_conv1d", "plain_4128", "bf16", "f32", 4128, 4, None, np.copy, np.copy),
        ("causal_conv1d", "width_3_f16", "f16", "f16", 100, 3, "f32", np.copy, np.copy),
        ("causal_conv1d_channel_first", "bias_silu", "bf16", "bf16", 64, 4, "bf16", first, silu),
        ("causal_conv1d_channel_first", "width_3_f32", "f32", "f32", 17, 3, None, first, np.copy),
        ("causal_conv1d_channel_first", "width_2_f16", "f16", "f16", 5, 2, None, first, np.copy)]:
    x, w = normal(dtype, 2, 11, channels), normal(kind, channels, width)
    bias = normal(bias_kind, channels) if bias_kind else np.zeros(channels)
    y = np.stack([convolve(sequence, w, nothing(w), bias)[0] for sequence in x])
    compare(module, name, [turn(x), w] + [bias] * (bias_kind is not None), turn(act(y)))
x, w, bias, state = normal("bf16", 2, 9, 128), normal("bf16", 128, 4), normal("bf16", 128), normal("bf16", 2, 3, 128)
y, after = zip(*(convolve(*sequence, bias) for sequence in zip(x, [w, w], state)))
compare("causal_conv1d", "initial_and_final_states", [x, w, bias, state], [silu(np.stack(y)), np.stack(after)])

# Several sequences in one: a tap of another one is zero.
for name, dtype, channels, width, turn in [("sequences_in_one", "bf16", 64, 4, np.copy),
                                           ("sequences_in_one_channel_first", "f32", 30, 3, first)]:
    x, w, sequence = normal(dtype, 2, 20, channels), normal("f32", channels, width), rng.integers(0, 3, (2, 20))
    bias = normal("f32", channels) if turn is first else 0
    y = np.zeros(x.shape) + bias
    for b, t, back in np.ndindex(2, 20, width):
        if t >= back and sequence[b, t - back] == sequence[b, t]:
            y[b, t] += w[:, -1 - back] * x[b, t - back]
    inputs = [turn(x), w] + [bias] * (turn is first) + [sequence.astype(np.int32)]
    compare("causal_conv1d", name, inputs, turn(silu(y) if turn is first else y))


# Prefill of ragged sequences: empty, shorter than the filter and longer ones, one whose
# line is padding, some whose line holds nothing yet.
BOUNDS, LINES = np.array([0, 0, 5, 6, 8, 17, 19]), np.array([3, 0, -1, 1, 4, 6])
INITIAL = np.array([0, 1, 1, 1, 0, 1], np.uint8)


def prefill(x, w, state, bias=0.0, initial=np.ones(6)):
    y, after = np.zeros(x.shape), state.copy()
    for s, line in enumerate(LINES):
        if line >= 0:
            part = slice(BOUNDS[s], BOUNDS[s + 1])
            y[part], after[line] = convolve(x[part], w, state[line] * initial[s], bias)
    return y, after


x, w, bias, state = normal("bf16", 19, 320), normal("bf16", 320, 4), normal("bf16", 320), normal("bf16", 8, 3, 320)
y, after = prefill(x, w, state, bias, INITIAL)
compare("causal_conv1d_varlen", "silu", [x, w, bias, BOUNDS, state, LINES, INITIAL], [silu(y), after])
x, w, state = normal("f32", 19, 96), normal("f32", 96, 3), normal("f32", 8, 5, 96)
y, after = prefill(x, w, state, initial=INITIAL)
compare("causal_conv1d_varlen", "channel_first_state", [x, w, BOUNDS, first(state), LINES, INITIAL], [y, first(after)])
x, w, state = normal("bf16", 19, 1024), normal("bf16", 1024, 4), normal("bf16", 8, 3, 1024)
y, after = prefill(x, w, state)
q, k, v = np.split(silu(y), [256, 512], -1)
compare("causal_conv1d_fwd_split_qkv", "qwen3_next_tp8", [x, w, BOUNDS, state, LINES],
        [q, k.reshape(19, 2, 128), v.reshape(19, 4, 128), after])
x, w, state = normal("f32", 19, 45), normal("f32", 45, 4), normal("f32", 8, 3, 45)
y, after = prefill(x, w, state)
compare("causal_conv1d_fwd_split_qkv", "odd", [x, w, BOUNDS, state, LINES], np.split(silu(y), [11, 22], -1) + [after])


# Prefix caching: a sequence goes on from the line of its last computed token; the state
# at the end of every block and of the sequence goes to the line of that block.
def cached(x, w, bounds, state, lines, computed, block, bias=0.0):
    y, after = np.zeros(x.shape), state.copy()
    for s, done in enumerate(computed):
        part = x[bounds[s]:bounds[s + 1]]
        if len(part) and lines[s, 0] >= 0:
            before = state[lines[s, (done - 1) // block]] if done else np.zeros(state.shape[1:])
            y[bounds[s]:bounds[s + 1]] = convolve(part, w, before, bias)[0]
            for n in range(1, len(part) + 1):
                if (done + n) % block == 0 or n == len(part):
                    after[lines[s, (done + n - 1) // block]] = convolve(part[:n], w, before)[1]
    return y, after


def table(*shape):
    """A line of its own for every block; the second sequence is padding."""
    lines = rng.permutation(np.prod(shape)).reshape(shape)
    lines[1] = -1
    return lines


x, w, bias, state = normal("bf16", 70, 72), normal("bf16", 72, 4), normal("bf16", 72), normal("bf16", 50, 3, 72)
bounds, lines, computed = np.array([0, 40, 45, 45, 46, 70]), table(5, 6), np.array([0, 3, 16, 15, 21])
y, after = cached(x, w, bounds, state, lines, computed, 16, bias)
compare("causal_conv1d_varlen", "blocks_16", [x, w, bias, bounds, state, lines, computed],
        [silu(y), after])
x, w, state = normal("f32", 70, 33), normal("f32", 33, 3), normal("f32", 300, 5, 33)
lines, computed = table(5, 37) + 10, np.array([0, 3, 16, 7, 20])
lines[1] = -1
y, after = cached(x, w, bounds, state, lines, computed, 2)
compare("causal_conv1d_varlen", "blocks_2_odd", [x, w, bounds, first(state), lines, computed], [y, first(after)])
x, w, state = normal("f16", 6, 1, 100), normal("f16", 100, 4), normal("f16", 40, 3, 100)
lines, computed = table(6, 5), np.array([0, 3, 4, 5, 19, 8])
y, after = cached(x[:, 0], w, np.arange(7), state, lines, computed, 4)
compare("causal_conv1d_split_qkv", "blocks_1_token", [x, w, state, lines, computed], [y[:, None], after])


# Decoding: a few tokens of every sequence. The state moves on by as many, or by those of
# the last draft that were accepted; padding has outputs of zero.
def decode(x, w, state, lines, bias=0.0, accepted=None):
    """y, the lines after it, and the last inputs behind every token [B, S, C, W - 1]."""
    kept, (batch, tokens, channels) = w.shape[1] - 1, x.shape
    y, after, windows = np.zeros(x.shape), state.copy(), np.zeros((batch, tokens, channels, kept))
    for s, line in enumerate(lines):
        if line < 0:
            continue
        before = state[line]
        if accepted is not None:  # the tokens of the last draft are at the end of the line
            before = before[:kept + accepted[s] - 1]
        y[s] = convolve(x[s], w, before, bias)[0]
        inputs = np.concatenate([before, x[s]])
        after[line] = inputs[len(inputs) - state.shape[1]:]
        for t in range(tokens):
            windows[s, t] = inputs[len(before) + t + 1 - kept:len(before) + t + 1].T
    return y, after, windows


lines = np.array([6, 1, -1, 2])
x, w, bias, state = normal("bf16", 4, 1024), normal("bf16", 1024, 4), normal("bf16", 1024), normal("bf16", 8, 3, 1024)
y, after, _ = decode(x[:, None], w, state, lines, bias)
q, k, v = np.split(silu(y[:, 0]), [256, 512], -1)
compare("causal_conv1d_split_qkv", "one_token", [x, w, bias, state, lines],
        [q.reshape(4, 4, 64), k.reshape(4, 4, 64), v, after])
x, w, state = normal("bf16", 4, 4, 250), normal("f32", 250, 4), normal("bf16", 8, 3, 250)
y, after, _ = decode(x, w, state, lines)
compare("causal_conv1d_split_qkv", "channel_first_4_tokens", [first(x), w, first(state), lines],
        np.split(first(silu(y)), [75, 150], 1) + [first(after)])
x, w, state = normal("f16", 4, 1, 64), normal("f16", 64, 2), normal("f16", 8, 4, 64)
y, after = (first(result) for result in decode(x, w, state, lines)[:2])
compare("causal_conv1d_split_qkv", "channel_first_1_token", [first(x), w, first(state), lines], [y, after])
x, w, state = normal("bf16", 4, 3, 200), normal("bf16", 200, 4), normal("bf16", 8, 3, 200)
y, after, windows = decode(x, w, state, lines)
compare("causal_conv1d_split_qkv", "windows", [x, w, state, lines], [silu(y), after, windows])
bias, state, accepted = normal("bf16", 200), normal("bf16", 8, 5, 200), np.array([1, 3, 2, 3])
y, after, _ = decode(x, w, state, [6, 2, -1, 0], bias, accepted)
compare("causal_conv1d_split_qkv", "speculative_3_tokens", [x, w, bias, state, np.array([6, 2, 1, 0]), accepted],
        np.split(silu(y), [60, 120], -1) + [after])  # padding is named by line 1
x, w, state, accepted = normal("f32", 4, 4, 70), normal("f32", 70, 3), normal("f32", 8, 5, 70), np.array([1, 3, 2, 4])
y, after, windows = decode(x, w, state, lines, accepted=accepted)
compare("causal_conv1d_split_qkv", "windows_accepted", [first(x), w, first(state), lines, accepted],
        [first(y), first(after), windows])


# States that are rings: token n of a sequence is at place n modulo their length.
def ring(x, w, state, lines, place):
    y, after = np.zeros(x.shape), state.copy()
    length, kept = state.shape[1], w.shape[1] - 1
    for s, line in enumerate(lines):
        if line >= 0:
            before = state[line, (place[s] - kept + np.arange(kept)) % length]
            y[s] = convolve(x[s], w, before)[0]
            for t, token in enumerate(x[s]):
                after[line, (place[s] + t) % length] = token
    return y, after


place = np.array([0, 5, 3, 37])
x, w, state = normal("f16", 4, 1, 250), normal("f16", 250, 4), normal("f16", 8, 7, 250)
compare("causal_conv1d_split_qkv", "ring_1_token", [x, w, state, lines, place], ring(x, w, state, lines, place))
x, w, state = normal("bf16", 4, 4, 64), normal("bf16", 64, 3), normal("bf16", 8, 3, 64)
y, after = ring(x, w, state, lines, place)
compare("causal_conv1d_split_qkv", "ring_4_tokens", [first(x), w, first(state), lines, place], [first(y), first(after)])


# fused_qkvzba_split: per key head [q | k | v of its value heads | z of them] and [b | a].
def split(qkvz, ba, heads, size, group, value):
    """[q | k | v] of all heads, z, b and a."""
    t = len(qkvz)
    q, k, v, z = np.split(qkvz.reshape(t, heads, -1), [size, 2 * size, 2 * size + group * value], -1)
    b, a = np.split(ba.reshape(t, heads, -1), 2, -1)
    packed = np.concatenate([part.reshape(t, -1) for part in (q, k, v)], -1)
    return packed, z.reshape(t, heads * group, value), b.reshape(t, -1), a.reshape(t, -1)


for name, dtype, heads, size, group, value in [("r2", "bf16", 4, 128, 2, 128), ("r3", "bf16", 2, 64, 3, 64),
                                               ("r1_f16", "f16", 8, 128, 1, 128), ("odd", "f32", 3, 20, 3, 12)]:
    qkvz, ba = normal(dtype, 5, heads * 2 * (size + group * value)), normal(dtype, 5, heads * 2 * group)
    compare("fused_qkvzba_split", name, [qkvz, ba], split(qkvz, ba, heads, size, group, value), exact=True)
qkvz, ba, w, state = normal("bf16", 5, 384), normal("bf16", 5, 8), normal("bf16", 256, 4), normal("bf16", 8, 3, 256)
lines = np.array([3, -1, 0, 7, -1])
packed, z, b, a = split(qkvz, ba, 2, 32, 2, 32)
y, after, _ = decode(packed[:, None], w, state, lines)
compare("causal_conv1d_reshape", "single_token", [qkvz, ba, w, state, lines], [silu(y), z, b, a, after])


# cumsum: sums that start again at every chunk and sequence.
def running(x, axis, chunk=None, bounds=None, reverse=False, exclusive=False):
    x = np.moveaxis(x, axis, 0)
    bounds = [0, len(x)] if bounds is None else bounds
    y = np.zeros(x.shape)
    for begin, end in zip(bounds, bounds[1:]):
        for i in range(begin, end):
            c = begin + (i - begin) // (chunk or len(x)) * (chunk or len(x))
            last = min(c + (chunk or len(x)), end)
            y[i] = x[i + exclusive:last].sum(0) if reverse else x[c:i + 1 - exclusive].sum(0)
    return np.moveaxis(y, 0, axis)


cu = np.array([0, 0, 70, 71, 71, 128])
x = normal("f32", 2, 130, 3)
compare("cumsum", "scalar", [x], running(x, 1, 64))
x = normal("bf16", 1, 130, 3)
compare("cumsum", "scalar_reverse", [x], running(x, 1, 64, reverse=True) / np.log(2))
x = normal("f32", 1, 130, 3)
compare("cumsum", "ragged", [x, cu], running(x, 1, 64, cu))
x = normal("f16", 1, 130, 2, 3)
compare("cumsum", "ragged_reverse", [x, cu], running(x, 1, None, cu, reverse=True, exclusive=True))
x = normal("f32", 5, 4, 130)
compare("cumsum", "head_first", [x], running(x, 2, 16))
x = normal("f32", 3, 130, 4)
compare("cumsum", "whole_line", [x], np.concatenate([running(x, 1, exclusive=True), x.sum(1, keepdims=True)], 1))
x = normal("bf16", 2, 130, 3, 5)
compare("cumsum", "vector", [x], running(x, 1, 64))
x = normal("f32", 1, 130, 3, 5)
compare("cumsum", "vector_reverse", [x, cu], running(x, 1, 32, cu, reverse=True))
x = normal("f32", 2, 3, 130, 5)
compare("cumsum", "vector_head_first", [x], running(x, 2, 64))
x = normal("bf16", 3, 130)
compare("cumsum", "ragged_head_first", [x, cu], running(x, 1, 64, cu) / np.log(2))
# Positions of a batch: tokens count from 0, padding has position 1.
mask = (np.random.default_rng(5).random((3, 200)) < 0.7).astype(np.int8)
compare("cumsum", "positions", [mask], np.where(mask != 0, np.cumsum(mask, 1, dtype=np.int32) - 1, 1).astype(np.int32), exact=True)
ba, decay, bias = normal("bf16", 1, 130, 64), normal("f32", 32), normal("f32", 32)
compare("cumsum", "computed", [ba, decay, bias],
        running(-np.exp(decay) * np.log1p(np.exp(ba[..., 32:] + bias)), 1, 64))

# index: which sequence a token is of, its place there, and the same of chunks of 64; -1
# where there is none.
cu, tokens = np.array([0, 0, 70, 134, 135, 200, 200, 201, 230]), normal("bf16", 240, 2)
lens = np.diff(cu)
pairs = [(s, p) for s, n in enumerate(lens) for p in range(n)] + [(-1, -1)] * 10
seq, pos = np.array(pairs).T
compare("index", "position_and_sequence_ids", [cu, tokens], [pos, seq], exact=True)
compare("index", "token_indices", [cu, tokens], np.array(pairs), exact=True)
chunks = [(s, c) for s, n in enumerate(lens) for c in range(-(-n // 64))]
most = -(-(240 + len(lens) * 63) // 64)
chunks = np.array((chunks + [(-1, -1)] * most)[:most])
compare("index", "chunk_indices", [cu, tokens], chunks, exact=True)
compare("index", "chunk_indices_and_offsets", [cu, tokens],
        [chunks[:, 0], chunks[:, 1], np.concatenate([[0], np.cumsum(-(-lens // 64))])], exact=True)
compare("index", "chunk_offsets", [cu], np.concatenate([[0], np.cumsum(-(-lens // 16))]), exact=True)
compare("index", "bounds_from_lens", [lens], cu, exact=True)
compare("index", "lens", [cu], lens, exact=True)
compare("index", "max_num_splits", [cu], np.array([2]), exact=True)
mask = rng.integers(0, 2, (9, 77)).astype(np.uint8)
compare("index", "lens_from_mask", [mask], mask.sum(-1), exact=True)

finish("causal_conv1d", "causal_conv1d_channel_first", "causal_conv1d_varlen", "causal_conv1d_fwd_split_qkv",
       "causal_conv1d_split_qkv", "causal_conv1d_reshape", "fused_qkvzba_split", "cumsum", "index")
