# ===- reference.py - The tinylm arithmetic in plain PyTorch ------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""The bf16 inference form of tinylm, rounding point by rounding point.

This file says what the numbers of the example mean. Every value that the
model stores (residual stream, norms, projections, rotated heads, gated
activations, attention output) is rounded to bf16 exactly once; everything
between two stores is f32. Matrix products multiply bf16 by bf16 and add in
f32, so two correct implementations differ only by the order of f32 additions
and by the bf16 roundings which that order flips. Computing everything between
two stores in f64 instead (Model's `wide`) shows how much that is. Works on the
CPU and on a GPU, with PyTorch 1.13 or later.
"""

import json
import math
import pathlib
import struct

import torch

from config import Config


def rope_tables(config: Config) -> dict:
    """rope.cos and rope.sin, f32 [context, head_dim / 2], computed in f64."""
    half = config.head_dim // 2
    exponent = torch.arange(half, dtype=torch.float64) / half
    angle = torch.outer(torch.arange(config.context, dtype=torch.float64),
                        config.theta ** -exponent)
    return {"rope.cos": angle.cos().float(), "rope.sin": angle.sin().float()}


SAFETENSORS_DTYPES = {"BF16": torch.bfloat16, "F32": torch.float32}


def save_safetensors(path: pathlib.Path, tensors: dict) -> None:
    """Writes `tensors` in insertion order; the data starts 64-byte aligned."""
    names = {dtype: name for name, dtype in SAFETENSORS_DTYPES.items()}
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        raw = tensor.detach().cpu().contiguous()
        size = raw.numel() * raw.element_size()
        header[name] = {"dtype": names[raw.dtype], "shape": list(raw.shape),
                        "data_offsets": [offset, offset + size]}
        width = torch.int16 if raw.dtype == torch.bfloat16 else torch.int32
        blobs.append(raw.view(width).numpy().tobytes())
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def load_safetensors(path: pathlib.Path, device: str = "cpu") -> dict:
    """All tensors of the file, on `device`."""
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        flat = torch.frombuffer(memoryview(data)[begin:end],
                                dtype=SAFETENSORS_DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).clone().to(device)
    return tensors


def linear(x, weight, wide):
    """x W^T with products and sums in `wide`, not yet rounded."""
    return x.to(wide) @ weight.to(wide).t()


def rms_norm(x, weight, eps, wide):
    x = x.to(wide)
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return (x * scale * weight.to(wide)).bfloat16()


def rope(x, cos, sin, wide):
    """Rotates the two halves of the last dimension (NEOX order).
    x is [batch, tokens, heads, head_dim], cos and sin [tokens, head_dim / 2]."""
    low, high = x.to(wide).chunk(2, -1)
    cos, sin = cos[:, None, :].to(wide), sin[:, None, :].to(wide)
    return torch.cat((low * cos - high * sin, high * cos + low * sin),
                     -1).bfloat16()


def attention(q, k, v, start, wide):
    """Causal attention of tokens start.. over the cached k and v.
    Heads come second; each group of query heads shares one k/v head."""
    group = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(group, 1).to(wide)
    v = v.repeat_interleave(group, 1).to(wide)
    scores = q.to(wide) @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    rows = torch.arange(q.shape[2], device=q.device)[:, None] + start
    columns = torch.arange(k.shape[2], device=q.device)[None, :]
    scores = scores.masked_fill(columns > rows, float("-inf"))
    return (torch.softmax(scores, -1) @ v).bfloat16()


class Cache:
    """Rotated keys and values per layer, bf16 [batch, kv_heads, tokens, 64]."""

    def __init__(self, config: Config):
        self.keys = [None] * config.layers
        self.values = [None] * config.layers
        self.tokens = 0

    def append(self, layer, k, v):
        if self.tokens:
            k = torch.cat((self.keys[layer], k), 2)
            v = torch.cat((self.values[layer], v), 2)
        self.keys[layer], self.values[layer] = k, v
        return k, v


class Model:
    """tinylm on the tensors of model.safetensors."""

    def __init__(self, tensors: dict, config: Config = Config(),
                 wide: torch.dtype = torch.float32):
        self.tensors, self.config, self.wide = tensors, config, wide

    def layer(self, i, x, cache):
        """One transformer block over x [batch, tokens, dim]."""
        c, start, wide = self.config, cache.tokens, self.wide
        batch, tokens, _ = x.shape
        weight = {name: self.tensors[f"layers.{i}.{name}"]
                  for name in ("attn_norm", "wqkv", "wo", "ffn_norm",
                               "w_gate_up", "w_down")}
        cos = self.tensors["rope.cos"][start:start + tokens]
        sin = self.tensors["rope.sin"][start:start + tokens]

        normed = rms_norm(x, weight["attn_norm"], c.eps, wide)
        qkv = linear(normed, weight["wqkv"], wide).bfloat16()
        qkv = qkv.view(batch, tokens, -1, c.head_dim)
        q, k, v = qkv.split((c.heads, c.kv_heads, c.kv_heads), 2)
        q = rope(q, cos, sin, wide).transpose(1, 2)
        k, v = cache.append(i, rope(k, cos, sin, wide).transpose(1, 2),
                            v.transpose(1, 2))
        mixed = attention(q, k, v, start, wide).transpose(1, 2).flatten(2)
        x = x + linear(mixed, weight["wo"], wide).bfloat16()

        normed = rms_norm(x, weight["ffn_norm"], c.eps, wide)
        gate, up = linear(normed, weight["w_gate_up"],
                          wide).bfloat16().to(wide).chunk(2, -1)
        gated = (torch.nn.functional.silu(gate) * up).bfloat16()
        return x + linear(gated, weight["w_down"], wide).bfloat16()

    def forward(self, ids, cache):
        """f32 logits [batch, tokens, vocab] of ids [batch, tokens]."""
        x = self.tensors["embed"][ids]
        for i in range(self.config.layers):
            x = self.layer(i, x, cache)
        cache.tokens += ids.shape[1]
        normed = rms_norm(x, self.tensors["norm"], self.config.eps, self.wide)
        return linear(normed, self.tensors["head"], self.wide).float()


def to_ids(text: bytes, device) -> torch.Tensor:
    return torch.tensor(list(text), dtype=torch.long, device=device)


def window_logits(model: Model, text: bytes, device: str = "cpu"):
    """Yields the logits of all scored bytes of some windows [bytes, vocab] and
    these bytes. Scored are bytes 1.. of each window of `context` bytes, given
    the bytes before them in the same window: byte 0 is context only, and a last
    incomplete window is dropped."""
    window = model.config.context
    count = len(text) // window
    windows = to_ids(text[:count * window], device).view(count, window)
    for batch in windows.split(8):
        logits = model.forward(batch, Cache(model.config))[:, :-1]
        yield logits.flatten(0, 1), batch[:, 1:].flatten()


def bits(logits, targets):
    """What each target byte costs."""
    logits = logits.double()
    chosen = logits.gather(-1, targets[:, None]).squeeze(-1)
    return (torch.logsumexp(logits, -1) - chosen) / math.log(2)


def bits_per_byte(model: Model, text: bytes, device: str = "cpu") -> float:
    """Mean bits of the scored bytes."""
    return float(torch.cat([bits(*rows) for rows in
                            window_logits(model, text, device)]).mean())


def greedy(model: Model, prompt: bytes, count: int, device: str = "cpu"):
    """The `count` most likely next bytes one after another through the cache,
    the gap between the two best logits at each of these steps, and the
    logits of the prompt's own positions [tokens, vocab]."""
    cache = Cache(model.config)
    prompt_logits = logits = model.forward(to_ids(prompt, device)[None], cache)
    out, gaps = bytearray(), []
    for _ in range(count):
        best = logits[0, -1].topk(2)
        out.append(int(best.indices[0]))
        gaps.append(float(best.values[0] - best.values[1]))
        logits = model.forward(to_ids(out[-1:], device)[None], cache)
    return bytes(out), gaps, prompt_logits[0]
