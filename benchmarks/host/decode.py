"""Products with one row on this CPU against a read of the same memory by as many threads.

Usage: decode.py [--threads N] [--repeats N] [--keep FOLDER]
Every product reads some 134 MB of weights, which no cache holds, in each of the types that
weights have; two lengths of a row. "few" have few columns, in a cache: one thread and two.
Prints GB/s of weights (with scales), median and best, and the share of the read's median,
which is measured before and after.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import typing

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
import hk  # noqa: E402

BYTES = 134217728
#: Name: type of a weight in MLIR, bits, scales in MLIR and their bytes in a row of k.
KINDS: dict[str, tuple] = {
    "f32": ("f32", 32, None), "bf16": ("bf16", 16, None),
    "fp8": ("f8E4M3FN", 8, "row"), "int8": ("i8", 8, "row"),
    "int4 group 32": ("ui4", 4, "bf16"), "int4 group 128": ("ui4", 4, "bf16"),
}


class Product(typing.NamedTuple):
    """One row times weights [rows, k]."""

    kind: str
    rows: int
    k: int

    @property
    def name(self) -> str:
        return f"{self.kind.replace(' ', '_')}_{self.rows}_{self.k}"

    @property
    def group(self) -> int:
        return int(self.kind.split()[-1]) if "group" in self.kind else self.k

    def scales(self) -> tuple[int, int]:
        return self.rows, self.k // self.group

    def text(self) -> str:
        dtype, _, scale = KINDS[self.kind]
        wide = "f32" if dtype == "f32" else "bf16"
        x, y = f"tensor<1x{self.k}x{wide}>", f"tensor<1x{self.rows}x{wide}>"
        w, d = f"tensor<{self.rows}x{self.k}x{dtype}>", f"tensor<{self.rows}x{self.k}x{wide}>"
        product = f"hk.matmul %x, %d transpose_b : {x}, {d} -> {y}"
        if scale is None:
            return f"func.func @{self.name}(%x: {x}, %d: {w}) -> {y} {{\n" \
                   f"  %y = {product}\n  return %y : {y}\n}}\n"
        s = "tensor<{}x{}x{}>".format(*self.scales(), "f32" if scale == "row" else scale)
        group = f"group {self.group}"
        return f"func.func @{self.name}(%x: {x}, %w: {w}, %s: {s}) -> {y} {{\n" \
               f"  %d = hk.dequantize %w, %s {group} : {w}, {s} -> {d}\n" \
               f"  %y = {product}\n  return %y : {y}\n}}\n"

    def operands(self) -> list[torch.Tensor]:
        dtype, bits, scale = KINDS[self.kind]
        wide = torch.float32 if dtype == "f32" else torch.bfloat16
        tensors = [torch.randn(1, self.k).to(wide)]
        if scale is None:
            return [*tensors, torch.randn(self.rows, self.k, dtype=wide)]
        codes = torch.randint(0, 64, (self.rows, self.k * bits // 8), dtype=torch.uint8)
        if dtype == "i8":
            codes = codes.view(torch.int8)
        elif bits == 8:
            codes = codes.view(torch.float8_e4m3fn)
        scales = torch.rand(self.scales()) + 0.5
        return [*tensors, codes, scales if scale == "row" else scales.to(torch.bfloat16)]


def products() -> list[Product]:
    return [Product(kind, BYTES * 8 // KINDS[kind][1] // k, k)
            for k in (4096, 576) for kind in KINDS if k % 128 == 0 or "128" not in kind]


FEW = [Product(kind, rows, k) for kind in ("bf16", "int8")
       for rows, k in ((24, 8192), (96, 4096), (192, 576), (576, 576))]


def timed(call: typing.Callable, repeats: int) -> list[float]:
    call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--keep", help="folder of what is compiled, used again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        run(folder, options)


def reading(folder: pathlib.Path, threads: int) -> float:
    if not (folder / "read").exists():
        subprocess.run(["clang++-22", "-O2", "-march=native", "-mprefer-vector-width=512",
                        "-pthread", str(HERE / "read.cpp"), "-o", str(folder / "read")],
                       check=True)
    text = subprocess.run([folder / "read", str(BYTES), str(threads), "15"], check=True,
                          capture_output=True, text=True).stdout
    print(f"read, {threads} threads: median and best {text.strip()} GB/s", flush=True)
    return float(text.split()[0])


def run(folder: pathlib.Path, options: argparse.Namespace) -> None:
    all_of = products()
    module = folder / "decode.so"
    if not module.exists():
        hk.compile("".join(p.text() for p in all_of + FEW), module, targets=["host"])
    loaded = {n: hk.load(module, threads=n) for n in (1, options.threads)}
    read = reading(folder, options.threads)
    torch.manual_seed(0)
    for p in all_of:
        tensors = p.operands()
        moved = sum(t.nbytes for t in tensors[1:])
        times = timed(loaded[options.threads][p.name].bind(*tensors), options.repeats)
        rate = moved / statistics.median(times) / 1e9
        print(f"{p.name:28} {rate:6.2f} {moved / min(times) / 1e9:6.2f} GB/s  "
              f"{rate / read:.2f} of the read", flush=True)
    reading(folder, options.threads)
    for p in FEW:
        tensors = p.operands()
        micros = [statistics.median(timed(m[p.name].bind(*tensors), 300)) * 1e6
                  for m in loaded.values()]
        print(f"few: {p.name:28} {micros[0]:7.2f} us, {options.threads} threads "
              f"{micros[1]:7.2f} us: {micros[0] / micros[1]:.2f} x", flush=True)


if __name__ == "__main__":
    main()
