#!/usr/bin/env python3
"""An encoder of all-MiniLM-L6-v2's sizes on this CPU: hk and PyTorch, milliseconds for 32 sentences of 64.

Usage: make.py minilm.py [--turns N] [--keep FOLDER] [--threads N] (python/environment/make.py)

Weights are random; f32 and bf16, each side from the same module. The sides take turns in one
process; prints a line each: side, best, median. --keep leaves compiled modules in a folder and
takes what is there.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time
import typing

import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import hk  # noqa: E402
import hk.torch  # noqa: E402

SENTENCES, LENGTH = 32, 64


class Encoder(torch.nn.Module):
    def __init__(self, dtype: torch.dtype):
        super().__init__()
        torch.manual_seed(0)
        config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                         intermediate_size=1536)
        self.model = transformers.BertModel(config, add_pooling_layer=False).eval().to(dtype)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids).last_hidden_state


def sides(folder: pathlib.Path, ids: torch.Tensor, threads: int) -> dict[str, typing.Callable]:
    out = {}
    for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        encoder, path = Encoder(dtype), folder / f"minilm-{name}.so"
        if not path.exists():
            hk.compile(hk.torch.export_module(encoder, (ids,), dtype=dtype), path)
        module = hk.load(path, threads=threads)
        out[f"hk {name}"] = lambda module=module: module.forward(ids)
        out[f"PyTorch {name}"] = lambda encoder=encoder: encoder(ids)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    ids = torch.randint(0, 30522, (SENTENCES, LENGTH), generator=torch.Generator().manual_seed(1))
    with tempfile.TemporaryDirectory() as temporary, torch.no_grad():
        run = sides(a.keep or pathlib.Path(temporary), ids, a.threads)
        times: dict[str, list[float]] = {name: [] for name in run}
        for turn in range(a.turns + 1):
            for name, call in run.items():
                start = time.perf_counter()
                call()
                if turn:  # The first is for warming up.
                    times[name].append(1e3 * (time.perf_counter() - start))
    for name, taken in times.items():
        print(f"{name}: {min(taken):.1f} ({statistics.median(taken):.1f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
