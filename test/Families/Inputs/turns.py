# ===- turns.py - What the main loop of ping_pong consists of --------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# turns.py LIBRARY TARGET: a line for each kernel of the library, in their order: what its
# main loop, the one without the tests for the end of a row, has of each kind, its waits, and
# the shares of turns that nothing but matrix instructions is in. Every count but that of
# scalar instructions is exact, as waits are counted by hand: a spilled register, or a wait
# that clang adds, would make the loop wrong or slow.
import json
import re
import sys
import tempfile
from collections import Counter

from budget import class_of
from objects import kernels_of_library, output


def hot_loop(code):
    """The shortest of the loops with most matrix instructions."""
    def size(loop):
        return sum(loop[0] <= i.address <= loop[1] and class_of(i.name) == "mfma" for i in code)

    loops = {(i.target, i.address) for i in code if i.target is not None and i.target <= i.address}
    return max(loops, key=lambda loop: (size(loop), loop[0] - loop[1]))


def report(kernel):
    first, last = hot_loop(kernel.code)
    loop = [i for i in kernel.code if first <= i.address <= last]
    counts = Counter(class_of(i.name) for i in loop)
    waits = Counter(i.operands for i in loop if i.name == "s_waitcnt")
    # From a wave's rise in priority to its fall there are products only.
    turns = re.findall(r"s_setprio 1((?: \S+)*?) s_setprio 0",
                       " ".join(f"s_setprio {i.operands}" if i.name == "s_setprio" else class_of(i.name) for i in loop))
    pure = sum(set(t.split()) == {"mfma"} for t in turns)
    return (f"spills {kernel.spills} scratch {kernel.scratch} mfma {counts['mfma']} valu {counts['valu'] + counts['acc']} "
            f"lds {counts['lds_op']} vmem {counts['vmem']} barriers {counts['barrier']} turns {pure} of {len(turns)} "
            f"waits {', '.join(f'{w} x{n}' for w, n in sorted(waits.items()))}; "
            f"scalar {'few' if counts['salu'] <= counts['mfma'] * 1.6 else counts['salu']}")


def main(library, target):
    with tempfile.TemporaryDirectory() as folder:
        kernels = kernels_of_library(library, folder)
    for kernel in json.loads(output("hk-run", library, "--info"))["sections"][0]["kernels"]:
        for variant in kernel["variants"]:
            print(target, "ping_pong" in variant["tile"], report(kernels[variant["symbol"]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
