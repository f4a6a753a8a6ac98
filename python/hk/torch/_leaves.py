"""Operators that a model's own code is replaced by before it is exported, as
`torch.ops.hk.*`: what they compute is what the hk operator of the same name documents."""

import torch


def rms_norm_formula(x: torch.Tensor, weight: torch.Tensor | None, epsilon: float, offset: float,
                     round_before_weight: bool) -> torch.Tensor:
    """hk.rms_norm: f32 inside; rounded once, or also before the weight."""
    wide = x.float()
    y = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + epsilon)
    if weight is None:
        return y.to(x.dtype)
    if round_before_weight:
        return weight * y.to(x.dtype) if not offset else (offset + weight) * y.to(x.dtype)
    return (y * (offset + weight.float())).to(x.dtype)


def rotate(x: torch.Tensor, style: str) -> torch.Tensor:
    """(-second, first) of every pair: neox pairs (j, j + R/2), gptj (2i, 2i + 1)."""
    if style == "neox":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def half_table(table: torch.Tensor, layout: str) -> torch.Tensor:
    """One angle per pair out of a table that has one per element, or ("single") per pair."""
    if layout == "single":
        return table
    return table[..., :table.shape[-1] // 2] if layout == "halves" else table[..., ::2]


def rope_formula(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, style: str
                 ) -> torch.Tensor:
    """hk.rope of x [..., T, R or more] with tables [..., T, R/2]; the rest is copied."""
    turned = x[..., :2 * cos.shape[-1]]
    if style == "neox":
        cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    else:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    y = turned * cos + rotate(turned, style) * sin
    return torch.cat((y.to(x.dtype), x[..., turned.shape[-1]:]), -1)


def visible(queries: int, keys: int, causal: bool, window_left: int, window_right: int,
            chunk: int, rows: torch.Tensor | None = None) -> torch.Tensor:
    """Which of a sequence's keys its last `queries` tokens see, or those of them that `rows`
    numbers; a window or chunk of -1 is none.
    Chunks are of the sequence's tokens from the first on; a token sees those of its own."""
    rows = torch.arange(queries) if rows is None else rows
    i = rows[:, None] + keys - queries
    j = torch.arange(keys)[None]
    seen = torch.ones(len(rows), keys, dtype=torch.bool)
    if causal:
        seen &= j <= i
    if window_left >= 0:
        seen &= j >= i - window_left
    if window_right >= 0:
        seen &= j <= i + window_right
    if chunk > 0:
        seen &= j // chunk == i // chunk
    return seen


def biases(bias: torch.Tensor, queries: int, keys: int) -> torch.Tensor:
    """What a bias of distances adds to the scores [H, queries, keys] of a sequence's last tokens:
    [H], a step of the distance; [H, 2 m + 1], distances -m to m, those beyond are m."""
    apart = torch.arange(keys)[None] - torch.arange(queries)[:, None] - (keys - queries)
    if bias.dim() == 1:
        return bias[:, None, None] * apart
    most = bias.shape[1] // 2
    return bias[:, apart.clamp(-most, most) + most]


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sink: torch.Tensor | None,
            bias: torch.Tensor | None, seen: torch.Tensor, scale: float, softcap: float
            ) -> torch.Tensor:
    """One sequence: q [Hq, S, D], k and v [Hk, L, D]."""
    group = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
    scores = (q @ k.mT).float() * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    scores = scores.masked_fill(~seen, float("-inf"))
    if sink is not None:
        column = sink.float()[:, None, None].expand(-1, scores.shape[1], 1)
        scores = torch.cat((scores, column), -1)
    p = scores.softmax(-1).nan_to_num(0.0)
    return p[..., :v.shape[1]].to(v.dtype) @ v


@torch.library.custom_op("hk::attention", mutates_args=())
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, extents: torch.Tensor,
              sink: torch.Tensor | None, bias: torch.Tensor | None, dense: bool, scale: float,
              causal: bool, window_left: int, window_right: int, chunk: int, softcap: float,
              layer: int) -> torch.Tensor:
    """Attention of whole sequences, [B, H, S, D] to [B, S, H, D].

    Not dense: B is 1, the tokens are cut into sequences by `extents`, i32 [sequences + 1].
    Dense: `extents`, i32 [B], says how many keys of each sequence exist. `bias` is of distances,
    see `biases`.
    """
    out = q.new_zeros(q.shape[0], q.shape[2], q.shape[1], v.shape[3])
    bounds = extents.tolist()
    pieces = ([(b, 0, q.shape[2], bounds[b]) for b in range(q.shape[0])] if dense else
              [(0, s, e, e - s) for s, e in zip(bounds, bounds[1:], strict=False)])
    for b, start, end, keys in pieces:
        # Dense queries beyond the keys are padding; all count from the first key.
        queries = end - start
        seen = visible(queries, queries if dense else keys, causal, window_left,
                       window_right, chunk)[:, :keys]
        last = start + keys
        added = None if bias is None else biases(
            bias, queries, queries if dense else keys)[..., :keys]
        y = _attend(q[b, :, start:end], k[b, :, start:last], v[b, :, start:last], sink, added, seen,
                    scale, softcap)
        out[b, start:end] = y.transpose(0, 1)
    return out


@attention.register_fake
def _(q, k, v, extents, sink, bias, dense, scale, causal, window_left, window_right, chunk,
      softcap, layer):
    return q.new_empty(q.shape[0], q.shape[2], q.shape[1], v.shape[3])


@torch.library.custom_op("hk::rms_norm", mutates_args=())
def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, epsilon: float, offset: float,
             round_before_weight: bool) -> torch.Tensor:
    """hk.rms_norm along the last dim."""
    return rms_norm_formula(x, weight, epsilon, offset, round_before_weight)


@rms_norm.register_fake
def _(x, weight, epsilon, offset, round_before_weight):
    return torch.empty_like(x)


@torch.library.custom_op("hk::rope", mutates_args=())
def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, positions: torch.Tensor,
         style: str, heads_dim: int) -> torch.Tensor:
    """hk.rope: x is [B, .., D] with the tokens in the dim that `heads_dim` and 0 leave;
    tables [P, R/2] in f32, positions [B, T]."""
    c, s = cos[positions.long()].unsqueeze(heads_dim), sin[positions.long()].unsqueeze(heads_dim)
    return rope_formula(x.float(), c, s, style).to(x.dtype)


@torch.library.custom_op("hk::rope_rows", mutates_args=())
def rope_rows(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, style: str, heads_dim: int
              ) -> torch.Tensor:
    """hk.rope whose tables have a row for each token, [B, T, R/2]."""
    c, s = cos.float().unsqueeze(heads_dim), sin.float().unsqueeze(heads_dim)
    return rope_formula(x.float(), c, s, style).to(x.dtype)


@rope_rows.register_fake
def _(x, cos, sin, style, heads_dim):
    return torch.empty_like(x)


@rope.register_fake
def _(x, cos, sin, positions, style, heads_dim):
    return torch.empty_like(x)
