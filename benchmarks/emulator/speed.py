#!/usr/bin/env python3
"""Speed of the emulator with every check on, on one core and on two: a fused row-wise
kernel, a bf16 matrix product and flash attention of hk itself.

  speed.py pack BUILD FOLDER        compile the kernels; FOLDER can be carried elsewhere
                                    (with hk-run, libhk_runtime.so.0 and libhk_emu.so)
  speed.py run FOLDER [--rounds=N] [--cores=A,B]

A round takes one process of one thread, one process of two threads and two processes of
one thread each, one after the other, so that all meet the same clock and load. The two
processes share nothing: what they lose is the machine's (a core that is half of a physical
one, a clock that falls when both work), what two threads lose beyond it is the emulator's.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

ROWS = """
func.func @f(%x: tensor<?x7168xbf16>, %r: tensor<?x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<?x7168xFP8>, tensor<?x56xf32>, tensor<?x7168xbf16>) {
  %s = hk.add %x, %r : tensor<?x7168xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x7168xbf16>, tensor<7168xbf16>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x7168xbf16> -> tensor<?x7168xFP8>, tensor<?x56xf32>
  return %q, %scale, %s : tensor<?x7168xFP8>, tensor<?x56xf32>, tensor<?x7168xbf16>
}
"""
GEMM = """
func.func @f(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<1024x1024xbf16>, tensor<1024x1024xbf16> -> tensor<1024x1024xbf16>
  return %y : tensor<1024x1024xbf16>
}
"""
ATTENTION = """
func.func @f(%q: T, %k: T, %v: T) -> T {
  %o = hk.attention %q, %k, %v scale 0.125 : T, T, T -> T
  return %o : T
}
""".replace("T", "tensor<1x1024x8x64xbf16>")
CASES = {"rows": (ROWS, ["--dim=x.0=512", "--dim=r.0=512"]), "gemm": (GEMM, []), "attention": (ATTENTION, [])}
CHIPS = {"gfx942": "f8E4M3FNUZ", "gfx950": "f8E4M3FN"}


def pack(build, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for chip, fp8 in CHIPS.items():
        for name, (text, _) in CASES.items():
            source = folder / f"{name}.mlir"
            source.write_text(text.replace("FP8", fp8))
            subprocess.run([build / "bin" / "hk-compile", source, f"--target={chip}", "-o",
                            folder / f"{name}.{chip}.so"], check=True)
    shutil.copy(build / "bin" / "hk-run", folder)
    shutil.copy(build / "lib" / "libhk_runtime.so", folder / "libhk_runtime.so.0")
    shutil.copy(build / "lib" / "libhk_emu.so", folder)


def launch(folder, name, chip, threads, processes):
    """Launch records of as many processes at once."""
    with tempfile.TemporaryDirectory() as times:
        running = []
        for number in range(processes):
            environment = dict(os.environ, HK_EMU_CHIP=chip, HK_EMU_THREADS=str(threads),
                               HK_HIP_LIBRARY=str(folder / "libhk_emu.so"), LD_LIBRARY_PATH=str(folder),
                               HK_EMU_TIMES=f"{times}/{number}")
            running.append(subprocess.Popen([folder / "hk-run", folder / f"{name}.{chip}.so", "--device=hip:0",
                                             *CASES[name][1]], env=environment, stdout=subprocess.DEVNULL))
        for process in running:
            if process.wait():
                raise SystemExit(f"{name} on {chip}: hk-run exited with {process.returncode}")
        return [json.loads(open(f"{times}/{number}").readline()) for number in range(processes)]


def run(folder, rounds, cores):
    if cores:
        os.sched_setaffinity(0, cores)
    for chip in CHIPS:
        for name in CASES:
            alone, pairs, machine = [], [], []
            for _ in range(rounds):
                one, = launch(folder, name, chip, 1, 1)
                two, = launch(folder, name, chip, 2, 1)
                apart = launch(folder, name, chip, 1, 2)
                alone.append(one["seconds"])
                pairs.append(one["seconds"] / two["seconds"])
                machine.append(2 * one["seconds"] / max(record["seconds"] for record in apart))
            print(f"{chip} {name}: {one['wave_instructions']:,} wave instructions, one thread {min(alone):.3f} s "
                  f"({one['wave_instructions'] / min(alone) / 1e6:.1f} M/s); two threads {statistics.median(pairs):.2f} x "
                  f"({min(pairs):.2f} to {max(pairs):.2f}), two processes {statistics.median(machine):.2f} x "
                  f"({min(machine):.2f} to {max(machine):.2f}); medians of {rounds} rounds", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("pack")
    command.add_argument("build", type=pathlib.Path)
    command.add_argument("folder", type=pathlib.Path)
    command = commands.add_parser("run")
    command.add_argument("folder", type=pathlib.Path)
    command.add_argument("--rounds", type=int, default=9)
    command.add_argument("--cores", type=lambda text: [int(core) for core in text.split(",")])
    arguments = parser.parse_args()
    if arguments.command == "pack":
        pack(arguments.build.resolve(), arguments.folder)
    else:
        run(arguments.folder.resolve(), arguments.rounds, arguments.cores)


if __name__ == "__main__":
    main()
