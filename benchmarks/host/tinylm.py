#!/usr/bin/env python3
# ===- tinylm_torch.py - PyTorch's speed on the tinylm example ----------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Prefill and decode tokens/s of examples/tinylm: hk and PyTorch on this CPU.

Usage: tinylm.py MODULE [options]
  MODULE   tinylm.so compiled for the host (its weights lie beside it)

Both sides share one process, the weights, the prompt and the number of threads,
and take turns, so that a busy moment of the machine hits both. PyTorch runs in
f32 and in bf16, the way one writes it for speed: fused attention where it has
it, a preallocated KV cache, inference mode, each weight stored in the type it is
used in. hk's prefill computes the logits of every token, PyTorch's of the last.
Prints JSON; every figure is the best of --repeats turns.
"""

import argparse
import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
EXAMPLE = HERE.parent.parent / "examples" / "tinylm"
sys.path[:0] = [str(EXAMPLE), str(HERE.parents[1] / "python")]
import hk  # noqa: E402
import reference  # noqa: E402
from config import Config  # noqa: E402


class CompiledModel:
    """tinylm.so with its state, called as FastModel is."""

    def __init__(self, module, config, prompt_length, threads):
        program = hk.load(module, threads=threads)
        cache = (1, config.context, config.kv_heads, config.head_dim)
        self.caches = [torch.zeros(cache, dtype=torch.bfloat16)
                       for _ in range(2 * config.layers)]
        self.calls = {}
        for name, tokens in (("prefill", prompt_length), ("decode", 1)):
            ids = torch.zeros(tokens, dtype=torch.int32)
            positions = torch.zeros(tokens, dtype=torch.int32)
            kv_len = torch.zeros(1, dtype=torch.int32)
            logits = torch.zeros(tokens, config.vocab)
            run = program[name].bind(ids, positions, kv_len, *self.caches, out=logits)
            self.calls[name] = (ids, positions, kv_len, logits, run)

    def forward(self, ids, start):
        """Logits of the last of the tokens ids, at positions start..."""
        tokens = ids.shape[0]
        held, positions, kv_len, logits, run = self.calls[
            "prefill" if tokens > 1 else "decode"]
        held.copy_(ids)
        torch.arange(start, start + tokens, out=positions)
        kv_len[0] = start + tokens
        run()
        return logits[-1:]


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


def turn(model, prompt, decode: int) -> tuple:
    """Tokens/s of prefill and of decode, and the text, to see it is right."""
    begin = time.perf_counter()
    logits = model.forward(prompt, 0)
    middle = time.perf_counter()
    text = bytearray()
    for i in range(decode):
        token = logits.argmax(-1)
        text.append(int(token))
        logits = model.forward(token, len(prompt) + i)
    end = time.perf_counter()
    return (len(prompt) / (middle - begin), decode / (end - middle),
            text[:48].decode("latin-1"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefill", type=int, default=256)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    config = Config()
    tensors = reference.load_safetensors(EXAMPLE / "model.safetensors")
    prompt = reference.to_ids(
        (EXAMPLE / "heldout.bin").read_bytes()[:options.prefill], "cpu")
    models = {"hk": CompiledModel(options.module, config,
                                  options.prefill, options.threads),
              "torch f32": FastModel(tensors, config, torch.float32),
              "torch bf16": FastModel(tensors, config, torch.bfloat16)}
    best = {name: (0.0, 0.0, "") for name in models}
    with torch.inference_mode():
        for _ in range(options.repeats):
            for name, model in models.items():
                prefill, decode, text = turn(model, prompt, options.decode)
                best[name] = (max(best[name][0], prefill),
                              max(best[name][1], decode), text)
    result = {"torch": torch.__version__, "threads": options.threads,
              "prefill": options.prefill, "decode": options.decode,
              "repeats": options.repeats}
    for name, (prefill, decode, text) in best.items():
        result[name] = {"prefill_tokens_per_s": round(prefill, 1),
                        "decode_tokens_per_s": round(decode, 1), "text": text}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
