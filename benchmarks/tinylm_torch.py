#!/usr/bin/env python3
# ===- tinylm_torch.py - PyTorch's speed on the tinylm example ----------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Prefill and decode tokens/s of examples/tinylm in PyTorch on this CPU.

The yardstick for the compiled library: the same weights, prompt length and
batch of one, in f32 and in bf16, the way one writes it for speed: fused
attention where PyTorch has it, a preallocated KV cache, inference mode, each
weight stored in the type it is used in. Prints JSON; every figure is the best
of --repeats runs.
"""

import argparse
import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as F

EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "tinylm"
sys.path.insert(0, str(EXAMPLE))
import reference  # noqa: E402
from config import Config  # noqa: E402


class FastModel:
    """tinylm for one sequence, rounded as `dtype` rounds it."""

    def __init__(self, tensors, config, dtype):
        self.config, self.dtype = config, dtype
        self.tables = [torch.cat((tensors[name], tensors[name]), -1).to(dtype)
                       for name in ("rope.cos", "rope.sin")]
        self.tensors = {name: tensor.to(dtype)
                        for name, tensor in tensors.items()}
        shape = (config.layers, 1, config.kv_heads, config.context,
                 config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype)
        self.values = torch.zeros(shape, dtype=dtype)

    def norm(self, x, name):
        weight = self.tensors[name]
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, weight.shape, weight, self.config.eps)
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True)
                            + self.config.eps)
        return (wide * scale).to(self.dtype) * weight

    def attend(self, q, k, v, causal):
        if hasattr(F, "rms_norm"):  # As new as enable_gqa.
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                  enable_gqa=True)
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) * self.config.head_dim ** -0.5
        if causal:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(mask, float("-inf"))
        return scores.softmax(-1) @ v

    def forward(self, ids, start: int):
        """Logits of the last of the tokens ids, at positions start..."""
        c, t, tokens = self.config, self.tensors, ids.shape[0]
        end = start + tokens
        cos, sin = (table[start:end, None, :] for table in self.tables)
        x = t["embed"][ids]
        for i in range(c.layers):
            layer = f"layers.{i}."
            qkv = F.linear(self.norm(x, layer + "attn_norm"),
                           t[layer + "wqkv"]).view(tokens, -1, c.head_dim)
            rotated = qkv[:, :c.heads + c.kv_heads]
            low, high = rotated.chunk(2, -1)
            rotated = rotated * cos + torch.cat((-high, low), -1) * sin
            q = rotated[:, :c.heads].transpose(0, 1)[None]
            self.keys[i, 0, :, start:end] = rotated[:, c.heads:].transpose(0, 1)
            self.values[i, 0, :, start:end] = qkv[
                :, c.heads + c.kv_heads:].transpose(0, 1)
            y = self.attend(q, self.keys[i, :, :, :end],
                            self.values[i, :, :, :end], tokens > 1)
            x = x + F.linear(y[0].transpose(0, 1).flatten(1), t[layer + "wo"])
            gate, up = F.linear(self.norm(x, layer + "ffn_norm"),
                                t[layer + "w_gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, t[layer + "w_down"])
        return F.linear(self.norm(x[-1:], "norm"), t["head"])


def measure(model, prompt, decode: int, repeats: int) -> dict:
    """Best tokens/s of prefill and decode, and the text, to see it is right."""
    best_prefill = best_decode = 0.0
    for _ in range(repeats):
        begin = time.perf_counter()
        logits = model.forward(prompt, 0)
        middle = time.perf_counter()
        text = bytearray()
        for i in range(decode):
            token = logits.argmax(-1)
            text.append(int(token))
            logits = model.forward(token, len(prompt) + i)
        end = time.perf_counter()
        best_prefill = max(best_prefill, len(prompt) / (middle - begin))
        best_decode = max(best_decode, decode / (end - middle))
    return {"prefill_tokens_per_s": round(best_prefill, 1),
            "decode_tokens_per_s": round(best_decode, 1),
            "text": text[:48].decode("latin-1")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefill", type=int, default=256)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    config = Config()
    tensors = reference.load_safetensors(EXAMPLE / "model.safetensors")
    prompt = reference.to_ids(
        (EXAMPLE / "heldout.bin").read_bytes()[:options.prefill], "cpu")
    result = {"torch": torch.__version__, "threads": options.threads,
              "prefill": options.prefill, "decode": options.decode}
    with torch.inference_mode():
        for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            model = FastModel(tensors, config, dtype)
            result[name] = measure(model, prompt, options.decode,
                                   options.repeats)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
