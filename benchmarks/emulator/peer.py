#!/usr/bin/env python3
"""Compares hk's emulator with tinygrad's AMD emulator, one instruction at a time, bit for bit.

usage: peer.py LIBHK_EMU TINYGRAD [--chip=gfx942|gfx950] [--match=REGEX] [--variants=REGEX] [--waves=N] [--json=FILE]

TINYGRAD is a checkout of github.com/tinygrad/tinygrad; its emulator (test/mockgpu/amd) executes the pseudocode of AMD's
CDNA4 document and knows one CDNA target. Every encoding that LLVM prints for the chip runs in both from the same
states: vector registers, scalars, VCC, EXEC, SCC, M0 and memory, of random and of edge values. Every difference of the
state afterwards is counted; NaNs that differ only in their bits and results within 2 ulp are counted apart. Differences that peer_known.py
explains are counted by their reasons, the others printed. Needs numpy.
"""
import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import peer_cases as pc
from peer_known import KNOWN


class Ours:
    """Code objects of many cases in libhk_emu.so."""

    def __init__(self, library, chip):
        os.environ["HK_EMU_CHIP"] = chip
        self.hip, self.chip = ctypes.CDLL(library), chip
        self.functions, self.modules = {}, []

    def load(self, cases):
        """Loads the cases; those that are refused are returned."""
        with tempfile.TemporaryDirectory() as work:
            text = "".join(pc.kernel(case, "k%d" % k) for k, case in enumerate(cases))
            text += pc.metadata(len(cases))
            with open(work + "/k.s", "w") as f:
                f.write(text)
            subprocess.run(["clang-22", "-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu=" + self.chip, work + "/k.s", "-o",
                            work + "/k.co"], check=True)
            with open(work + "/k.co", "rb") as f:
                data = f.read()
        module = ctypes.c_void_p()
        if self.hip.hipModuleLoadData(ctypes.byref(module), data):
            if len(cases) == 1:
                return cases
            half = len(cases) // 2
            return self.load(cases[:half]) + self.load(cases[half:])
        for k, case in enumerate(cases):
            function = ctypes.c_void_p()
            if self.hip.hipModuleGetFunction(ctypes.byref(function), module, b"k%d" % k):
                raise RuntimeError("no kernel for " + case.text)
            self.functions[case.text] = function
        return []

    def upload(self, array):
        pointer = ctypes.c_void_p()
        self.hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        self.hip.hipMemcpy(pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), 1)
        return pointer

    def run(self, case, v, s, mem):
        waves, regs, _ = v.shape
        wide = np.zeros((waves, 32), np.uint32)
        wide[:, :s.shape[1]] = s
        out = np.zeros((waves, regs + 1, pc.LANES), np.uint32)
        pointers = [self.upload(np.ascontiguousarray(x)) for x in (v, out, wide, mem)]
        params = (ctypes.c_void_p * 4)(*[ctypes.addressof(p) for p in pointers])
        status = self.hip.hipModuleLaunchKernel(self.functions[case.text], waves, 1, 1, pc.LANES, 1, 1, 0, None, params, None)
        after = np.empty_like(mem)
        for host, pointer in ((out, pointers[1]), (after, pointers[3])):
            self.hip.hipMemcpy(host.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(host.nbytes), 2)
        for pointer in pointers:
            self.hip.hipFree(pointer)
        if status:
            raise RuntimeError("launch: HIP error %d" % status)
        return out[:, :regs], out[:, regs, :s.shape[1]].copy(), after


class Tinygrad:
    """WaveState of test/mockgpu/amd/emu.py, set and read directly; denormals are kept, as in our kernels."""

    PLACES = list(range(16, 32)) + [106, 107, 126, 127, None, 124]

    def __init__(self, checkout):
        if not os.path.exists(checkout + "/test/mockgpu/amd/emu.py"):
            sys.exit("peer.py: %s is no checkout of tinygrad with test/mockgpu/amd/emu.py" % checkout)
        sys.path.insert(0, checkout)
        from test.mockgpu.amd import emu
        self.emu = emu
        self.places = [emu.SCC.offset if p is None else p for p in self.PLACES]
        self.state = emu.WaveState(64, 64)
        self.lds = np.zeros(16384, np.uint32)
        self.vector = np.frombuffer(self.state._vgpr_mv, np.uint32).reshape(256, 64)
        self.scalar = np.frombuffer(self.state._sgpr_mv, np.uint32)

    def run(self, case, v, s, mem):
        code = np.frombuffer(case.code + bytes(16), np.uint8).copy()
        program, runtime = self.emu._get_runner(case.code + bytes(4 if len(case.code) < 16 else 0), "cdna")
        size = self.emu.decode_inst(case.code + bytes(8), "cdna").size()
        if size != len(case.code):
            raise RuntimeError("decoded as %d bytes" % size)
        pointers = [self.state.sgpr_buf._buf.va_addr, self.state.vgpr_buf._buf.va_addr, 0, self.lds.ctypes.data, 0,
                    self.state.accvgpr_buf._buf.va_addr]
        args = [ctypes.c_uint64(pointers[g]) for g in program.arg.globals]
        out, scalars, after = np.empty_like(v), np.empty_like(s), mem.copy()
        for w in range(v.shape[0]):
            self.vector[:v.shape[1]] = v[w]
            self.scalar[:128] = 0
            self.scalar[self.places] = s[w]
            if case.kind == "global":
                address = after[w].ctypes.data
                self.scalar[16], self.scalar[17] = address & 0xffffffff, address >> 32
            self.lds[:pc.MEM_WORDS] = mem[w]
            self.state.pc = code.ctypes.data
            runtime.fxn(*args)
            out[w] = self.vector[:v.shape[1]]
            scalars[w] = self.scalar[self.places]
            if case.kind == "lds":
                after[w] = self.lds[:pc.MEM_WORDS]
        return out, scalars, after


FLOATS = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}


def result_type(mnemonic):
    """The element of the result by the mnemonic's first type after the operation."""
    types = re.findall(r"(?<![a-z0-9])(b?f(?:16|32|64)|[biu](?:8|16|24|32|64))", mnemonic)
    return types[0] if types else "b32"


def differing(case, a, b):
    """(bits, nans, near, all) counts of differing words of results a and b [waves, regs, 64]."""
    diff = a != b
    total = int(diff.sum())
    kind = result_type(case.mnemonic)
    if not total or kind not in FLOATS:
        return total, 0, 0, total
    nans = near = 0
    if kind == "f64":
        where = np.argwhere(diff)
        for w, r, l in {(w, r & ~1, l) for w, r, l in map(tuple, where)}:
            x = int(a[w, r, l]) | int(a[w, r + 1, l]) << 32
            y = int(b[w, r, l]) | int(b[w, r + 1, l]) << 32
            words = int(diff[w, r:r + 2, l].sum())
            if all(t & 0x7fffffffffffffff > 0x7ff << 52 for t in (x, y)):
                nans += words
            elif abs(x - y) <= 2:
                near += words
    elif kind == "f32":
        x, y = a[diff].astype(np.int64), b[diff].astype(np.int64)
        both = ((x & 0x7fffffff) > 0x7f800000) & ((y & 0x7fffffff) > 0x7f800000)
        nans = int(both.sum())
        near = int((~both & (np.abs(x - y) <= 2)).sum())
    else:
        bits = 10 if kind == "f16" else 7
        x, y = a[diff].astype(np.int64), b[diff].astype(np.int64)
        nan_all, near_all = np.ones(len(x), bool), np.ones(len(x), bool)
        for shift in (0, 16):
            p, q = x >> shift & 0xffff, y >> shift & 0xffff
            top = (0x7fff >> bits) << bits
            both = ((p & 0x7fff) > top) & ((q & 0x7fff) > top)
            nan_all &= both | (p == q)
            near_all &= both | (np.abs(p - q) <= 2)
        nans, near = int(nan_all.sum()), int((near_all & ~nan_all).sum())
    return total - nans - near, nans, near, total


def describe(case, v, s, ours, theirs):
    """The first differing word with the sources of its lane."""
    for (x, y, what) in ((ours[0], theirs[0], "v"), (ours[1], theirs[1], "s"), (ours[2], theirs[2], "memory")):
        at = np.argwhere(x != y)
        if not len(at):
            continue
        at = tuple(at[0])
        w = at[0]
        if what == "s":
            place = pc.SCALARS[at[1]]
        else:
            place = "%s%d%s" % (what, at[1], " lane %d" % at[2] if what == "v" else "")
        lane = at[2] if what == "v" else 0
        sources = " ".join("v%d=%08x" % (r, v[w, r, lane]) for r in (0, 1, 4, 5, 8, 9, 24, 25))
        scalars = " ".join("%s=%08x" % (pc.SCALARS[k], s[w, k]) for k in (0, 1, 4, 5, 8, 9, 16, 17, 18, 19, 20))
        return "%s ours %08x peer %08x; %s; %s" % (place, x[at], y[at], sources, scalars)
    return ""


def written(text):
    """The vector registers that the first operand names, or None if it names none."""
    operands = text.split(None, 1)[1] if " " in text else ""
    if text.startswith(("v_swap", "v_permlane")):  # two results
        return set(range(256))
    at = re.match(r"v(?:(\d+)|\[(\d+):(\d+)\])", operands)
    if not at:
        return set()
    return {int(at.group(1))} if at.group(1) else set(range(int(at.group(2)), int(at.group(3)) + 1))


def without_exec(case):
    """V_CMP for V_CMPX, whose pseudocode (EXEC = D0 = ...) the peer does not evaluate."""
    if not case.mnemonic.startswith("v_cmpx"):
        return case
    word = int.from_bytes(case.code[:4], "little")
    step = (1 if "class" in case.mnemonic else 16) << (17 if word >> 25 == 0x3e else 16)
    return pc.Case(pc.words(word - step) + case.code[4:], case.text, case.kind, case.variant)


def compare(case, ours, peer, waves, seed):
    v, s, mem = pc.states(case, waves, seed, ours.chip)
    row = {"text": case.text, "mnemonic": case.mnemonic, "variant": case.variant, "values": 0}
    try:
        theirs = peer.run(without_exec(case), v, s, mem)
    except Exception as error:  # the peer declines: whatever it raises
        row["declined"] = "%s: %s" % (type(error).__name__, str(error)[:120])
        return row
    try:
        mine = ours.run(case, v, s, mem)
    except RuntimeError as error:
        row["finding"] = str(error)
        return row
    if case.mnemonic.startswith("v_cmpx"):  # EXEC.u64[laneId] = D0.u64[laneId]
        at = 8 if "s[24:25]" in case.text else 16
        theirs[1][:, 18:20] = theirs[1][:, at:at + 2]
    if case.kind == "global":
        for x in (mine[1], theirs[1]):
            x[:, :2] = 0
    row["values"] = waves if case.kind == "scalar" else waves * pc.LANES * max(1, len(written(case.text)) % 256)
    # A peer that writes a register which is no result of the instruction is counted apart.
    outside = np.array([r for r in range(v.shape[1]) if r not in written(case.text)], int)
    if not (mine[0][:, outside] != v[:, outside]).any():
        row["stray"] = row.get("stray", 0) + int((theirs[0][:, outside] != v[:, outside]).sum())
        theirs[0][:, outside] = v[:, outside]
    bits, nans, near, _ = differing(case, mine[0], theirs[0])
    other = int((mine[1] != theirs[1]).sum()) + int((mine[2] != theirs[2]).sum())
    row.update(bits=bits + other, nans=nans, near=near)
    if bits + other or nans or near:
        row["example"] = describe(case, v, s, mine, theirs)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("tinygrad")
    parser.add_argument("--chip", default="gfx950", choices=("gfx942", "gfx950"))
    parser.add_argument("--match", default="")
    parser.add_argument("--variants", default="")
    parser.add_argument("--waves", type=int, default=24)
    parser.add_argument("--json")
    options = parser.parse_args()
    peer = Tinygrad(os.path.abspath(options.tinygrad))
    commit = subprocess.run(["git", "-C", options.tinygrad, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    ours = Ours(os.path.abspath(options.library), options.chip)
    cases = pc.cases(options.chip, re.compile(options.match), re.compile(options.variants))
    refused = []
    for k in range(0, len(cases), 64):
        refused += ours.load(cases[k:k + 64])
    refused_texts = {case.text for case in refused}
    rows, done = [], set()
    if options.json and os.path.exists(options.json):  # an earlier run that was stopped
        with open(options.json) as f:
            rows = [json.loads(line) for line in f]
        done = {r["text"] for r in rows}
    log = open(options.json, "a") if options.json else None
    for k, case in enumerate(cases):
        if case.text in refused_texts or case.text in done:
            continue
        scalar = case.kind == "scalar"
        row = compare(case, ours, peer, options.waves * (16 if scalar else 1), k)
        rows.append(row)
        if log:
            log.write(json.dumps(row) + "\n")
            log.flush()
        if row.get("bits") and not any(re.search(pattern, case.text) for pattern, _, _ in KNOWN):
            print("%s: %d bits, %d nan, %d near of %d values: %s"
                  % (row["text"], row["bits"], row["nans"], row["near"], row["values"], row["example"]), flush=True)
    ran = [r for r in rows if "declined" not in r and "finding" not in r]
    clean = [r for r in ran if not r["bits"] and not r["nans"] and not r["near"]]
    print("%s against tinygrad %s: %d encodings, %d refused by us, %d declined by the peer, %d compared (%d mnemonics, %d values)"
          % (options.chip, commit[:12], len(cases), len(refused), sum("declined" in r for r in rows), len(ran),
             len({r["mnemonic"] for r in ran}), sum(r["values"] for r in ran)))
    for r in rows:
        if "finding" in r:
            print("our own run of %s: %s" % (r["text"], r["finding"]))
    print("%d equal in every bit, %d but for registers that only the peer writes or leaves; %d differ in NaN bits only, %d by at"
          " most 2 ulp, %d otherwise:"
          % (sum(1 for r in clean if not r.get("stray")), sum(1 for r in clean if r.get("stray")),
             sum(1 for r in ran if r["nans"] and not r["near"] and not r["bits"]),
             sum(1 for r in ran if r["near"] and not r["bits"]), sum(1 for r in ran if r["bits"])))
    counts = {}
    for r in ran:
        if r["bits"]:
            key = next(((v, why) for pattern, v, why in KNOWN if re.search(pattern, r["text"])), ("unexplained", ""))
            counts.setdefault(key, []).append(r["mnemonic"])
    for (verdict, why), names in sorted(counts.items()):
        print("  %s, %d encodings (%s): %s" % (verdict, len(names), ", ".join(sorted(set(names))[:4]), why))
    sys.exit(any(verdict == "unexplained" for verdict, _ in counts))


if __name__ == "__main__":
    main()
