#!/usr/bin/env python3
# ===- train.py - Train tinylm ------------------------------------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Trains the byte-level language model of this example.

Reads the documents of corpus.py (from Debian packages, or from a directory it
has written), keeps the end of each one apart, trains with f32 master weights
under bf16 autocast, and writes to --out:

  model.safetensors   bf16 weights and f32 RoPE tables
  heldout.bin         32 KiB of text that the model has not seen
  expected.json, expected_logits.npy
                      what PyTorch says about these weights (see expected.py)

A few minutes on one H200; `--steps 3 --batch 2` tries it out on a CPU.
"""

import argparse
import math
import pathlib
import time

import torch
import torch.nn.functional as F

import corpus
import expected
import reference
from config import Config, weight_shapes

HELD_OUT_BYTES = 4096  # of each novel; twice as much of the longer Bible


class TrainableModel(torch.nn.Module):
    """The model of reference.py for training: f32 parameters under the same
    names, autocast rounding, dropout on both branches of every block."""

    def __init__(self, config: Config, dropout: float):
        super().__init__()
        self.config, self.dropout = config, dropout
        self.weights = torch.nn.ParameterDict()
        for name, shape in weight_shapes(config).items():
            init = torch.ones(shape)
            if len(shape) == 2:
                init = torch.randn(shape) * 0.02
                if name.endswith(("wo", "w_down")):
                    init /= math.sqrt(2 * config.layers)
            self.weights[name.replace(".", "_")] = torch.nn.Parameter(init)
        for name, table in reference.rope_tables(config).items():
            self.register_buffer(name.replace(".", "_"), table)

    def weight(self, name):
        return self.weights[name.replace(".", "_")]

    def norm(self, x, name):
        x = x.float()
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config.eps)
        return x * scale * self.weight(name)

    def rotate(self, x):
        low, high = x.float().chunk(2, -1)
        cos, sin = (table[:x.shape[2]] for table in
                    (self.rope_cos, self.rope_sin))
        return torch.cat((low * cos - high * sin, high * cos + low * sin),
                         -1).to(x.dtype)

    def attend(self, x, layer):
        c = self.config
        batch, tokens, _ = x.shape
        qkv = F.linear(x, self.weight(layer + "wqkv"))
        qkv = qkv.view(batch, tokens, -1, c.head_dim).transpose(1, 2)
        q, k, v = qkv.split((c.heads, c.kv_heads, c.kv_heads), 1)
        group = c.heads // c.kv_heads
        q, k = self.rotate(q), self.rotate(k).repeat_interleave(group, 1)
        v = v.repeat_interleave(group, 1)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) * c.head_dim ** -0.5
            mask = torch.ones(tokens, tokens, device=x.device).triu(1).bool()
            y = scores.masked_fill(mask, float("-inf")).softmax(-1).to(
                v.dtype) @ v
        return F.linear(y.transpose(1, 2).flatten(2), self.weight(layer + "wo"))

    def feed_forward(self, x, layer):
        gate, up = F.linear(x, self.weight(layer + "w_gate_up")).chunk(2, -1)
        return F.linear(F.silu(gate) * up, self.weight(layer + "w_down"))

    def forward(self, ids, targets):
        """Mean cross entropy in nats."""
        x = F.embedding(ids, self.weight("embed"))
        for i in range(self.config.layers):
            layer = f"layers.{i}."
            branch = self.attend(self.norm(x, layer + "attn_norm"), layer)
            x = x + F.dropout(branch, self.dropout, self.training)
            branch = self.feed_forward(self.norm(x, layer + "ffn_norm"), layer)
            x = x + F.dropout(branch, self.dropout, self.training)
        logits = F.linear(self.norm(x, "norm"), self.weight("head"))
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def split(documents: dict):
    """Training, validation and held-out bytes: the last bytes of every
    document are held out, as many before them choose the best weights."""
    train, validation, held_out = [], [], []
    for name, text in documents.items():
        count = HELD_OUT_BYTES * (2 if name == "bible" else 1)
        train.append(text[:-2 * count])
        validation.append(text[-2 * count:-count])
        held_out.append(text[-count:])
    return b"\n".join(train), b"".join(validation), b"".join(held_out)


def inference_tensors(model: TrainableModel) -> dict:
    """The weights in the form and order of model.safetensors."""
    tensors = {name: model.weight(name).detach().cpu().bfloat16()
               for name in weight_shapes(model.config)}
    tensors.update(reference.rope_tables(model.config))
    return tensors


def train(options, text: bytes, validation: bytes) -> dict:
    """Trains and returns the tensors that did best on `validation`."""
    torch.manual_seed(options.seed)
    device = options.device
    config = Config()
    model = TrainableModel(config, options.dropout).to(device)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": options.weight_decay},
         {"params": vectors, "weight_decay": 0.0}],
        lr=options.lr, betas=(0.9, 0.98))
    step_model = torch.compile(model) if options.compile else model

    data = torch.frombuffer(bytearray(text), dtype=torch.uint8).to(device)
    window = torch.arange(config.context + 1, device=device)
    begin, best, tensors = time.time(), math.inf, None
    for step in range(options.steps):
        elapsed = (time.time() - begin) / (60 * options.minutes)
        progress = max(step / options.steps, min(elapsed, 1.0))
        rate = options.lr * (0.02 + 0.98 * 0.5 *
                             (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / options.warmup)

        start = torch.randint(len(data) - config.context - 1,
                              (options.batch, 1), device=device)
        ids = data[start + window].long()
        with torch.autocast(device.split(":")[0], dtype=torch.bfloat16):
            loss = step_model(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

        last = step + 1 == options.steps or elapsed >= 1.0
        if last or (step + 1) % options.validate_every == 0:
            candidate = inference_tensors(model)
            on_device = {name: t.to(device) for name, t in candidate.items()}
            with torch.inference_mode():
                bits = reference.bits_per_byte(reference.Model(on_device),
                                               validation, device)
            print(f"step {step + 1}: {time.time() - begin:.0f} s, train "
                  f"{loss.item() / math.log(2):.3f}, validation {bits:.4f} "
                  "bits per byte", flush=True)
            if bits < best:
                best, tensors = bits, candidate
        if last:
            break
    return tensors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=pathlib.Path,
                        help="directory of .txt files written by corpus.py; "
                        "without it the Debian packages are downloaded")
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true",
                        help="train through torch.compile")
    parser.add_argument("--steps", type=int, default=12000)
    parser.add_argument("--minutes", type=float, default=60.0,
                        help="end the schedule after this time at the latest")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--weight-decay", type=float, default=0.2)
    parser.add_argument("--dropout", type=float, default=0.15)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--validate-every", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    if options.corpus:
        documents = {path.stem: path.read_bytes()
                     for path in sorted(options.corpus.glob("*.txt"))}
    else:
        documents = corpus.documents()
    text, validation, held_out = split(documents)
    print(f"training on {len(text)} bytes of {', '.join(documents)}")

    tensors = train(options, text, validation)
    options.out.mkdir(parents=True, exist_ok=True)
    reference.save_safetensors(options.out / "model.safetensors", tensors)
    (options.out / "heldout.bin").write_bytes(held_out)
    expected.write(options.out, options.device)


if __name__ == "__main__":
    main()
