# ===- gate.py - What a row-wise kernel may cost ---------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles representative functions of the module tests for an AMD chip and holds
# their code objects and what the emulator counts against limits that need no
# hardware: at least four waves on a SIMD, no spills, no LDS bank conflicts, accesses
# as wide as the operands' types allow, and no byte moved twice. Where a kernel is
# allowed more, the case says why.
import argparse
import json
import os
import re
import sys
import tempfile

from objects import kernels_of_library, output

WAVES, SLACK = 4, 1.05
BITS = {"f32": 32, "bf16": 16, "f16": 16, "i32": 32, "i64": 64, "i8": 8, "i1": 8, "f4E2M1FN": 4}

WEIGHT = "every row reads the weights again, which stay in the caches"
TABLE = "every head reads the token's cosines and sines again, from the first cache"
STRIP = ("every strip of eight tokens reads its filters and the three tokens before it again, from the caches;"
         " filters of strided weights are loaded one by one, four of bf16 at a time")


class Case:
    """A function of a module test, the first dim of its arguments, which fills blocks, and what it may do
    beyond the limits: `again` bytes per row that are not from memory, `narrow` accesses
    of so many bytes, fewer `waves`; only with a reason. Options of hk-run that it needs
    besides."""

    def __init__(self, module, function, rows=16, again=0, narrow=(), why="", options="", waves=WAVES):
        self.module, self.function, self.rows, self.options = module, function, rows, options.split()
        self.again, self.narrow, self.why = again, set(narrow), why
        self.waves = waves
        assert bool(why) == bool(again or narrow or waves < WAVES), f"{module} @{function}: an exception needs a reason"


CASES = [
    Case("rmsnorm", "f16_128", 64, again=256, why=WEIGHT),
    Case("rmsnorm", "bf16_4096", again=8192, why=WEIGHT),
    Case("rmsnorm", "add_bf16_2880", again=5760, why=WEIGHT),
    Case("rmsnorm", "gated_heads", again=8 * 512, why=WEIGHT),
    Case("layernorm", "bf16_8192", 8, again=2 * 16384, why=WEIGHT),
    Case("fused_add_rmsnorm_pad", "add_bf16_2880", again=5760, why=WEIGHT),
    Case("l2norm", "forward_128"),
    Case("l2norm", "backward"),
    Case("activation", "silu", 32),
    Case("activation", "silu_and_mul_6400", 8),
    Case("softmax", "f16_8192", 8),
    Case("softmax", "f32_20000", 4),
    Case("rope", "neox", 32, again=4 * 256, why=TABLE),
    Case("rope", "two_channels", again=10 * 256, why=TABLE),
    Case("fused_kv_cache", "vllm_f16", again=10 * 256, narrow=[2],
         why=TABLE + "; neighbours of a token in the transposed cache of values are a block apart"),
    Case("fused_mul_add", "bf16_4096"),
    Case("fused_qk_concat", "mla_512_64"),
    Case("quant", "token_fp8_4096"),
    Case("quant", "group_fp8"),
    Case("fused_fp8_quant", "group_7168", 8, again=14336, why=WEIGHT),
    Case("fused_fp8_quant", "gated", again=8 * 256, why=WEIGHT),
    Case("fused_mxfp4_quant", "norm_256", 32, again=512, why=WEIGHT),
    Case("fused_mxfp4_quant", "silu_mul_704", 22),
    Case("quant_moe", "fp4_up"),
    Case("quant_moe", "fp4_to_bf16", again=3 * 90, why="four threads read the scale of a block of 32"),
    Case("gdr_utils", "abs_diff", again=140, narrow=[16],
         why="rows of 129 words are accessed by whole vectors; a block's rows behind the last of 37 read that one"),
    Case("causal_conv1d", "bias_silu", 2, again=8 * 4096, narrow=[8], why=STRIP, options="--dim=x.1=64"),
    Case("causal_conv1d_fwd_split_qkv", "qwen3_next_tp8", 64, again=2048, narrow=[8], waves=3,
         why=STRIP + "; filters, taps and loads of eight channels and eight tokens take 130 registers, and bounded to"
             " 128 they spill: the eight loads in flight hide the latency",
         options="--dim=cu.0=2 --dim=lines.0=1 --range=cu=bounds:64"),
    Case("causal_conv1d_split_qkv", "one_token", 8, again=21248, narrow=[8],
         why=STRIP + "; a state's entries are read as taps and again to be moved"),
    Case("fused_qkvzba_split", "r2", 8, narrow=[4], why="b and a lie in runs of two"),
    Case("op", "sigmoid", 32),
    Case("fused_gdn_gating_prefill", "bf16_32", 64, again=192, why=WEIGHT),
    Case("fused_qkv_split_qk_rope", "neox_gqa", 8, again=20 * 256, why=TABLE),
]


def natural_widths(function):
    """Bytes of an access of each operand: a thread takes as many elements as make 16
    bytes of the smallest real operand, or twice as many where lanes share groups; of
    shorter rows and of single values less."""
    bits = lambda a: BITS.get(a["dtype"], 8)
    rows = [a for a in function["arguments"] if len(a["shape"]) > 1 and isinstance(a["shape"][-1], int)]
    reals = [bits(a) for a in rows if a["dtype"] in ("f32", "bf16", "f16")]
    elements = 128 // min(reals)
    widest = max(a["shape"][-1] for a in rows)
    widths = set()
    for a in function["arguments"]:
        last = a["shape"][-1] if a["shape"] else 1
        row = a in rows and 8 * last >= widest and last % elements == 0
        widths |= {min(16, n * bits(a) // 8) for n in (elements, 2 * elements)} if row else {max(1, bits(a) // 8)}
    return widths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", required=True)
    parser.add_argument("--modules", required=True)
    parser.add_argument("--only", help="a module")
    parser.add_argument("--strict", action="store_true", help="without exceptions")
    options = parser.parse_args()
    failures = 0
    environment = dict(os.environ, HK_EMU_CHIP=options.target)
    with tempfile.TemporaryDirectory() as folder:
        for module in dict.fromkeys(c.module for c in CASES):
            if options.only and options.only != module:
                continue
            cases = [c for c in CASES if c.module == module]
            for case in cases if options.strict else []:
                case.again, case.narrow, case.waves = 0, set(), WAVES
            text = open(f"{options.modules}/{module}.mlir").read()
            with open(f"{folder}/m.mlir", "w") as file:
                for case in cases:
                    file.write(re.search(rf"^func\.func @{case.function}\(.*?^}}\n", text, re.S | re.M)[0])
            output("hk-compile", f"{folder}/m.mlir", f"--target={options.target}", "-o", f"{folder}/m.so",
                   env=environment)
            kernels = kernels_of_library(f"{folder}/m.so", folder)
            info = {f["name"]: f for f in json.loads(output("hk-run", f"{folder}/m.so", "--info"))["functions"]}
            for case in cases:
                function = info[case.function]
                sizes = [f"--dim={s}={case.rows}" for a in function["arguments"] for s in a["shape"]
                         if isinstance(s, str) and s.endswith(".0") and a["role"] != "output"]
                indices = [f"--range={a['name']}=iota" for a in function["arguments"]
                           if a["dtype"] in ("i32", "i64") and a["role"] != "output"]
                counted = json.loads(output("hk-run", f"{folder}/m.so", f"--function={case.function}", *sizes, *indices,
                                            *case.options, "--device=hip:0", "--counters=json", env=environment))["kernels"]
                wrong = []
                for counts in counted:
                    kernel = kernels[counts["kernel"]]
                    waves = kernel.waves(options.target)
                    if waves < case.waves:
                        wrong.append(f"{waves:g} waves on a SIMD ({kernel.vgprs} registers, {kernel.lds} bytes of"
                                     f" LDS, {kernel.threads} threads), at least {case.waves} expected")
                    if kernel.spills or kernel.scratch:
                        wrong.append(f"spills {kernel.spills} registers and has {kernel.scratch} bytes of scratch,"
                                     " none expected")
                    if counts["lds_conflict_clocks"]:
                        wrong.append(f"{counts['lds_conflict_clocks']} clocks of LDS bank conflicts, none expected")
                    moved = counts["global_read_bytes"] + counts["global_write_bytes"]
                    allowed = counts["compulsory_bytes"] + case.rows * case.again
                    if moved > SLACK * allowed:
                        wrong.append(f"{moved} bytes moved, at most {SLACK} x {allowed} expected"
                                     f" ({counts['compulsory_bytes']} compulsory)")
                    narrow = kernel.accesses() - natural_widths(function) - case.narrow
                    if narrow:
                        wrong.append(f"accesses of {sorted(narrow)} bytes, expected only"
                                     f" {sorted(natural_widths(function) | case.narrow)}")
                failures += bool(wrong)
                for line in wrong:
                    print(f"{module} @{case.function} on {options.target}: {line}")
    print("over the limits:", failures)
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
