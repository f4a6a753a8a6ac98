# ===- reference.py - A pair of Qwen3-Next layers in NumPy ---------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""The published formulas. With `rounds` the results that qwen3_next.mlir keeps in bf16 or f32 are
rounded there; without, nothing is, which is what transformers is compared with. Between those
places `kind` says how exact the sums are and `backwards` in which order products sum: how far
these forms differ is how far another right implementation may.

A layer's states are dicts: conv [width - 1, channels], delta [value_heads, keys, values],
keys and values [context, kv_heads, head_dim], of one sequence."""

import numpy as np


def to_f32(x):
    return np.asarray(x, np.float64).astype(np.float32).astype(np.float64)


def to_bf16(x):
    """Nearest bf16, ties to even; of f64 by way of an integer, so that nothing rounds twice."""
    x = np.asarray(x, np.float64)
    step = 2.0 ** (np.floor(np.log2(np.abs(np.where(x == 0, 1, x)))) - 7)
    return np.rint(x / step) * step


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


class Reference:
    def __init__(self, config, weights, rounds=True, kind=np.float64, backwards=False):
        """weights: by the names of config.weight_shapes, float64."""
        self.c, self.kind, self.step = config, kind, -1 if backwards else 1
        self.w = {name: x.astype(kind) for name, x in weights.items()}
        self.rounds = rounds

    def b(self, x):
        """A result that is bf16."""
        return to_bf16(x).astype(self.kind) if self.rounds else x

    def f(self, x):
        """A result that is f32."""
        return to_f32(x).astype(self.kind) if self.rounds else x

    def rms(self, x, weight, offset=0.0):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.c.eps) * (offset + weight)

    def linear(self, x, weight):
        return x[..., ::self.step] @ weight[..., ::self.step].T

    def experts(self, layer, x):
        c, w = self.c, {k.split(".")[-1]: v for k, v in self.w.items() if k.startswith(layer + ".moe.")}
        h = self.b(self.rms(x, w["norm"], 1.0))
        logits = self.f(self.linear(h, w["router"]))
        routed = np.zeros(x.shape, self.kind)
        for t in range(len(x)):
            best = np.argsort(-logits[t], kind="stable")[:c.top_k]
            p = np.exp(logits[t, best] - logits[t, best[0]])
            for e, weight in zip(best, self.f(p / p.sum())):
                gate, up = np.split(self.b(self.linear(h[t], w["gate_up"][e])), 2)
                routed[t] += self.f(weight * self.f(self.linear(self.b(silu(gate) * up), w["down"][e])))
        gate, up = np.split(self.b(self.linear(h, w["shared_gate_up"])), 2, -1)
        shared = self.f(self.linear(self.b(silu(gate) * up), w["shared_down"]))
        shared = self.f(shared * self.f(sigmoid(self.f(self.linear(h, w["shared_gate"])))))
        return self.b(x + self.f(self.f(routed) + shared))

    def delta(self, x, state, chunked):
        """Tokens [T, hidden] of one sequence; updates `state`."""
        c, tokens, r = self.c, len(x), self.c.share
        h = self.b(self.rms(x, self.w["delta.norm"], 1.0))
        grouped = self.b(self.linear(h, self.w["delta.qkvz"])).reshape(tokens, c.key_heads, c.group)
        q, k, v, z = np.split(grouped, [c.keys, 2 * c.keys, 2 * c.keys + r * c.values], -1)
        ba = self.b(self.linear(h, self.w["delta.ba"])).reshape(tokens, c.key_heads, 2 * r)
        b, a = (part.reshape(tokens, -1) for part in np.split(ba, 2, -1))
        g = self.f(-np.exp(self.w["delta.a_log"]) * np.log1p(np.exp(a + self.w["delta.dt_bias"])))
        beta = self.f(sigmoid(b))
        mixed = np.concatenate([part.reshape(tokens, -1) for part in (q, k, v)], -1)
        inputs = np.concatenate([state["conv"], mixed])
        conv = sum(self.w["delta.conv"][:, j] * inputs[j:j + tokens] for j in range(c.width))
        state["conv"] = inputs[tokens:]
        mixed = self.b(silu(self.f(conv)))
        q, k, v = np.split(mixed, [c.key_heads * c.keys, 2 * c.key_heads * c.keys], -1)
        q, k = (part.reshape(tokens, c.key_heads, c.keys) for part in (q, k))
        v = v.reshape(tokens, c.value_heads, c.values)
        rule = self.chunks if chunked else self.recurrence
        o = np.stack([rule(q[:, i // r], k[:, i // r], v[:, i], g[:, i], beta[:, i], state["delta"], i)
                      for i in range(c.value_heads)], 1)
        o = self.f(self.rms(self.b(o), self.w["delta.gated_norm"]))
        o = self.b(o * self.f(silu(z.reshape(o.shape))))
        return self.b(x + self.b(self.linear(o.reshape(tokens, -1), self.w["delta.out"])))

    def recurrence(self, q, k, v, g, beta, states, head):
        """Of one head; its state is states[head]."""
        q, k, s = unit(q) * self.c.keys**-0.5, unit(k), states[head]
        out = np.zeros(v.shape, self.kind)
        for t in range(len(q)):
            s = s * np.exp(g[t])
            s = s + np.outer(k[t], beta[t] * (v[t] - k[t] @ s))
            out[t] = q[t] @ s
        states[head] = self.f(s)
        return out

    def chunks(self, q, k, v, g, beta, states, head):
        """The same as products of whole chunks, which rounds elsewhere."""
        c, out, s = self.c, np.zeros(v.shape, self.kind), states[head]
        q, k = self.b(unit(q)), self.b(unit(k))
        for begin in range(0, len(q), c.chunk):
            at = slice(begin, begin + c.chunk)
            total = self.f(np.cumsum(g[at]))
            n = len(total)
            between = np.exp(np.minimum(total[:, None] - total[None, :], 0))
            a = self.f(np.tril(beta[at, None] * between * (k[at] @ k[at].T), -1))
            inverse = self.b(np.linalg.inv(np.eye(n, dtype=self.kind) + a))
            u = self.b(inverse @ self.b(beta[at, None] * v[at]))
            w = self.b(inverse @ self.b(beta[at, None] * np.exp(total)[:, None] * k[at]))
            start = self.b(s)
            new = u - w @ start
            weights = self.b(np.tril(between * (q[at] @ k[at].T)))
            out[at] = c.keys**-0.5 * (np.exp(total)[:, None] * (q[at] @ start) + weights @ self.b(new))
            left = np.exp(total[-1] - total)[:, None]
            s = np.exp(total[-1]) * s + k[at].T @ self.b(new * left)
        states[head] = self.f(s)
        return out

    def rotated(self, x, positions):
        half = self.c.rotary // 2
        cos, sin = self.w["rope.cos"][positions][:, None], self.w["rope.sin"][positions][:, None]
        first, second = x[..., :half], x[..., half:2 * half]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin, x[..., 2 * half:]], -1)

    def attention(self, x, state, positions):
        """Tokens of one sequence at these positions, which are the last of the cache."""
        c, tokens, d = self.c, len(x), self.c.head_dim
        h = self.b(self.rms(x, self.w["attn.norm"], 1.0))
        qg = self.b(self.linear(h, self.w["attn.q"])).reshape(tokens, c.heads, 2 * d)
        q, gate = np.split(qg, 2, -1)
        k, v = (self.b(self.linear(h, self.w[name])).reshape(tokens, c.kv_heads, d) for name in ("attn.k", "attn.v"))
        q = self.b(self.rotated(self.b(self.rms(q, self.w["attn.q_norm"], 1.0)), positions))
        k = self.b(self.rotated(self.b(self.rms(k, self.w["attn.k_norm"], 1.0)), positions))
        state["keys"][positions], state["values"][positions] = k, v
        seen = np.zeros(q.shape, self.kind)
        for t, p in enumerate(positions):
            for head in range(c.heads):
                own = head // (c.heads // c.kv_heads)
                scores = state["keys"][:p + 1, own] @ q[t, head] * d**-0.5
                weights = np.exp(scores - scores.max())
                seen[t, head] = weights / weights.sum() @ state["values"][:p + 1, own]
        let = self.b(self.b(seen) * self.f(sigmoid(gate)))
        return self.b(x + self.b(self.linear(let.reshape(tokens, -1), self.w["attn.out"])))

    def pair(self, x, state, positions, chunked):
        """Both layers with their experts; states are of `kind`."""
        x = self.experts("delta", self.delta(x.astype(self.kind), state, chunked))
        return self.experts("attn", self.attention(x, state, positions))
