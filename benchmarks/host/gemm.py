"""Matrix products on the host against the core's own multiply-add peak.

Usage: gemm.py [folder of hk-compile and hk-run]
Prints, for one and two threads, the best time of each product in gemm.mlir, its
rate and the fraction of the measured peak (of the memory traffic: GB/s).
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../build/release/bin")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        output("clang++-22", "-O2", "-march=native", "-mprefer-vector-width=512",
               f"{HERE}/fma_peak.cpp", "-o", f"{folder}/peak")
        peak = float(output(f"{folder}/peak"))
        print(f"multiply-add peak of one core: {peak:.1f} GFLOP/s")
        output(f"{TOOLS}/hk-compile", f"{HERE}/gemm.mlir", "-o", f"{folder}/gemm.so", "--target=host",
               "--host-cpu=native")
        for threads in (1, 2):
            for name, flops, moved in (("bf16", 2 * 768**3, 3 * 768**2 * 2), ("f32", 2 * 768**3, 3 * 768**2 * 4),
                                       ("decode", 2 * 1408 * 256, 1408 * 256 * 2)):
                text = output(f"{TOOLS}/hk-run", f"{folder}/gemm.so", f"--function={name}", f"--threads={threads}",
                              f"--bench={2000 if name == 'decode' else 40}")
                micros = float(re.search(r"min ([\d.]+) us", text)[1])
                rate = flops / micros / 1e3
                print(f"{name:7} {threads} threads {micros:9.1f} us {rate:7.1f} GFLOP/s "
                      f"{rate / peak / threads:5.1%} of peak {moved / micros / 1e3:6.1f} GB/s")


if __name__ == "__main__":
    main()
