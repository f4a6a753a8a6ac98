# ===- values.py - Random graphs, run and compared ------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles random graphs, fused and with a kernel per operator, on the host unless
# told otherwise, and calls each with several numbers of tokens and kinds of data. Every
# element of every result must be within the bound that the reference interpreter
# derives for it.
import argparse
import os
import random
import sys
import tempfile

import blocks
import graphs
import runs

TOKENS = (5, 1, 0, 67)  # of a call with dynamic sizes
DATA = ("normal", "normal", "normal", "equal", "huge", "tiny", "inf", "nan")


def numbers(value, tokens):
    """The integers of an argument, as an option."""
    kind = f"bounds:{tokens}" if value.numbers == "bounds" else value.numbers
    return f"--range={value.name[1:]}={kind}"


def calls(name, graph, seed):
    """The options of every call of one graph."""
    rng = random.Random(seed)
    for tokens in TOKENS if graph.dynamic else (graph.num_tokens,):
        options = [f"--function={name}", f"--random={rng.randrange(1000)}", f"--data={rng.choice(DATA)}"]
        options += [numbers(value, tokens) for value in graph.args if value.numbers]
        if graph.dynamic:
            options += [f"--dim={value.name[1:]}.{i}={tokens * (1 if size == 'T' else size[1])}"
                        for value in graph.args for i, size in enumerate(value.shape) if not isinstance(size, int)]
        yield " ".join(options)


def make(seed, options):
    if options.blocks:
        return blocks.graph(seed, options.max_ops, options.blocks.split(","))
    return graphs.graph(seed, max_ops=options.max_ops, products=not options.rowwise)


def problems(folder, seeds, options, mode):
    """What is wrong with the graphs of these seeds, compiled and called together."""
    made = {seed: make(seed, options) for seed in seeds}
    text = "module {\n" + "".join(g.text(f"f{seed}") for seed, g in made.items()) + "}\n"
    lines = [line for seed, graph in made.items() for line in calls(f"f{seed}", graph, seed)]
    lines = [] if options.compile else lines
    for name, why in runs.problems(folder, text, lines, options.target, options.device, *mode):
        if name is not None or len(seeds) == 1:
            yield int(name[1:]) if name else seeds[0], why
        else:  # which of them?
            for seed in seeds:
                yield from problems(folder, [seed], options, mode)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--max-ops", type=int, default=10)
    parser.add_argument("--batch", type=int, default=10, help="graphs in one module")
    parser.add_argument("--rowwise", action="store_true", help="no products")
    parser.add_argument("--blocks", help=f"blocks of models, of these kinds: {','.join(blocks.KINDS)}")
    parser.add_argument("--fused", action="store_true", help="not with a kernel per operator, too")
    parser.add_argument("--compile", action="store_true", help="no calls: quick, and for every target")
    parser.add_argument("--target", default="host")
    parser.add_argument("--device", default="hip:0")
    parser.add_argument("--keep", help="folder for the graphs that fail")
    options = parser.parse_args()
    if options.keep and os.path.exists(options.keep) and not os.path.isdir(options.keep):
        parser.error(f"--keep: expected a folder, but '{options.keep}' is a file; name another")
    failed = set()
    last = options.first + options.seeds
    with tempfile.TemporaryDirectory() as folder:
        for first in range(options.first, last, options.batch):
            seeds = list(range(first, min(first + options.batch, last)))
            for mode in ([],) if options.fused else ([], ["--no-fuse"]):
                for seed, why in problems(folder, seeds, options, mode):
                    failed.add(seed)
                    print(f"seed {seed} {' '.join(mode)}: {why}", flush=True)
    for seed in failed if options.keep else ():
        os.makedirs(options.keep, exist_ok=True)
        with open(f"{options.keep}/f{seed}.mlir", "w") as file:
            file.write("module {\n" + make(seed, options).text(f"f{seed}") + "}\n")
    print(f"{options.seeds} graphs, {len(failed)} failures")
    return len(failed) != 0


sys.exit(main())
