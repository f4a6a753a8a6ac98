#!/usr/bin/env python3
"""Plants bugs in hk's own kernels, one at a time, and asks whether the emulator reports them.

usage: planted.py BUILD_DIR [gfx942|gfx950|both] [SITES]

The script is also the compiler that hk-compile calls (--clang): it compiles the kernel to assembly with line tables,
changes one site, and assembles it. A bug counts as reported when a finding carries pc, instruction, kernel and source
line. "Values" are bugs inside a kernel's own memory that no bounds show, found by hk-run --check instead. The rest runs
and is right: a redundant wait, a barrier that orders nothing on the executed path. Whether a site runs at all is asked by
ending the program there.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

CLANG = os.environ.get("HK_REAL_CLANG", "/usr/bin/clang++-22")
MODULES = {
    "softmax": """func.func @f(%x: tensor<64x3000xf32>) -> tensor<64x3000xf32> {
  %y = hk.softmax %x : tensor<64x3000xf32>
  return %y : tensor<64x3000xf32>
}
""",
    "matmul": """func.func @f(%x: tensor<100x256xbf16>, %w: tensor<128x256xbf16>) -> tensor<100x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<100x256xbf16>, tensor<128x256xbf16> -> tensor<100x128xbf16>
  return %y : tensor<100x128xbf16>
}
""",
    "attention": """func.func @f(%q: tensor<1x200x2x64xbf16>, %k: tensor<1x200x2x64xbf16>, %v: tensor<1x200x2x64xbf16>)
    -> tensor<1x200x2x64xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<1x200x2x64xbf16>, tensor<1x200x2x64xbf16>, tensor<1x200x2x64xbf16>
      -> tensor<1x200x2x64xbf16>
  return %o : tensor<1x200x2x64xbf16>
}
""",
}


def weaken(line):
    counts = re.findall(r"(vmcnt|lgkmcnt)\((\d+)\)", line)
    return "\ts_waitcnt " + " ".join("%s(%d)" % (k, min(int(n) + 1, 15)) for k, n in counts) if counts else None


def past_end(line):
    """The store moved by one lane's worth: the last lane of the last row leaves the buffer."""
    at = re.search(r"offset:(-?\d+)", line)
    offset = int(at.group(1)) if at else 0
    wide = 4 * int((re.search(r"dwordx(\d)", line) or [0, 1])[1])
    text = line[:at.start()].rstrip() if at else line.rstrip()
    return "%s offset:%d" % (text, offset + wide) if offset + wide < 4096 else None


def lds_past(line, lds):
    at = re.search(r"offset:(\d+)", line)
    text = line[:at.start()].rstrip() if at else line.rstrip()
    if lds < 65536:
        return "%s offset:%d" % (text, lds)
    # More LDS than an offset spans (gfx950): the address register moves.
    address = re.search(r"v\d+", line if "ds_write" in line else line.split(",", 1)[1]).group()
    return "\tv_add_u32_e32 %s, 0x%x, %s\n%s" % (address, lds, address, text)


INSERTED = {
    "read-only write": "\ts_mov_b64 exec, -1\n\ts_getpc_b64 vcc\n\tv_mov_b32 v1, 0\n\tglobal_store_dword v1, v1, vcc\n",
    "divergent barrier": "\tv_cmp_gt_u32 vcc, 64, v0\n\ts_cbranch_vccnz .Lplanted\n\ts_endpgm\n.Lplanted:\n",
}
KINDS = ["barrier removed", "wait removed", "wait weakened", "LDS write removed", "LDS write past the end",
         "LDS read past the end", "store one past", "read-only write", "divergent barrier"]


def sites(kind, lines):
    pattern = {"barrier removed": r"\ts_barrier", "wait removed": r"\ts_waitcnt", "wait weakened": r"\ts_waitcnt",
               "LDS write removed": r"\tds_write", "LDS write past the end": r"\tds_write_b",
               "LDS read past the end": r"\tds_read_[bu]", "store one past": r"\t(global|buffer)_store",
               "read-only write": r"\ts_endpgm", "divergent barrier": r"; %bb.0:"}[kind]
    return [i for i, line in enumerate(lines) if re.match(pattern, line)]


def change(kind, lines, at):
    """The planted text, or None if this site cannot carry the bug."""
    line = lines[at].split(";")[0].rstrip() if not kind.startswith("divergent") else lines[at]
    if kind in ("barrier removed", "wait removed", "LDS write removed"):
        return "\ts_nop 0"
    if kind == "wait weakened":
        return weaken(line)
    if kind == "store one past":
        return past_end(line)
    if kind.startswith("LDS"):
        lds = next(int(m.group(1)) for m in map(re.compile(r".*group_segment_fixed_size (\d+)").match, lines) if m)
        return lds_past(line, lds)
    if kind == "divergent barrier":
        return line + "\n" + INSERTED[kind]
    return INSERTED[kind] + line


def as_clang(arguments):
    """Called by hk-compile; HK_PLANT is KIND:SITE."""
    if "hip" not in arguments:
        os.execv(CLANG, [CLANG] + arguments)
    out = arguments[arguments.index("-o") + 1]
    arguments[arguments.index("-o") + 1] = out + ".s"
    subprocess.run([CLANG, "-gline-tables-only", "-S"] + arguments, check=True)
    with open(out + ".s") as f:
        lines = f.read().split("\n")
    kind, site, probe = os.environ["HK_PLANT"].split(":")
    found = sites(kind, lines) if kind in KINDS else []
    with open(os.environ["HK_PLANT_LOG"], "w") as f:
        f.write(str(len(found)))
    if found:
        new = change(kind, lines, found[int(site)])
        if new is None:
            sys.exit("no such bug here")
        if probe == "ends":
            new = "\ts_endpgm\n" + lines[found[int(site)]]
        lines[found[int(site)]] = new
    with open(out + ".s", "w") as f:
        f.write("\n".join(lines))
    chip = next(a.split("=")[1] for a in arguments if a.startswith("--offload-arch="))
    subprocess.run([CLANG, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", "-mcpu=" + chip, out + ".s", "-o", out],
                   check=True)


class Bench:
    def __init__(self, build, chip, work):
        self.build, self.chip, self.work = build, chip, work

    def run(self, name, kind, site, probe="bug"):
        """(sites, outcome): reported CHECK, values, hidden, not run, or None where the site cannot carry the bug."""
        path = os.path.join(self.work, name)
        report, log = path + ".report", path + ".count"
        env = dict(os.environ, HK_PLANT="%s:%d:%s" % (kind, site, probe), HK_PLANT_LOG=log, HK_EMU_CHIP=self.chip,
                   HK_HIP_LIBRARY=self.build + "/lib/libhk_emu.so", HK_EMU_REPORT=report, HK_EMU_MAX_INSTS="2000000")
        for old in (report, log):
            if os.path.exists(old):
                os.remove(old)
        with open(path + ".mlir", "w") as f:
            f.write(MODULES[name])
        made = subprocess.run([self.build + "/bin/hk-compile", path + ".mlir", "--target=" + self.chip, "--cache-dir=",
                               "--clang=" + os.path.abspath(__file__), "-o", path + ".so"], env=env, capture_output=True)
        count = int(open(log).read()) if os.path.exists(log) else 0
        if made.returncode or not count and kind in KINDS:
            return count, None
        ran = subprocess.run([self.build + "/bin/hk-run", path + ".so", "--device=hip:0", "--check=" + path + ".mlir"], env=env,
                             capture_output=True, text=True)
        if os.path.exists(report):
            with open(report) as f:
                findings = [json.loads(line) for line in f]
            whole = [x for x in findings if x["pc"] and x["instruction"] and x["kernel"] and x["source"]]
            return count, "reported " + whole[0]["check"] if whole else "reported without its place"
        if ran.returncode:
            return count, "values"
        if probe == "bug" and kind in KINDS and self.run(name, kind, site, "ends")[1] == "hidden":
            return count, "not run"
        return count, "hidden"


def plant(bench, limit):
    """Whether the kernels without a bug are clean."""
    clean = True
    for name in MODULES:
        _, outcome = bench.run(name, "none", 0)
        print("%s %s without a bug: %s" % (bench.chip, name, outcome), flush=True)
        clean &= outcome == "hidden"
        for kind in KINDS:
            outcomes, total, site = {}, 1, 0
            silent = []
            while site < total:
                total, outcome = bench.run(name, kind, site)
                if outcome:
                    outcomes[outcome] = outcomes.get(outcome, 0) + 1
                    if outcome in ("hidden", "values"):
                        silent.append(site)
                site += max(1, -(-total // limit))
            if outcomes:
                print("  %s, %d sites: %s%s" % (kind, total, ", ".join("%d %s" % (n, o) for o, n in sorted(outcomes.items())),
                                               " (not reported: %s)" % silent if silent else ""), flush=True)
    return clean


def main():
    build, chip = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "both"
    limit = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    clean = True
    with tempfile.TemporaryDirectory() as work:
        for each in ("gfx942", "gfx950") if chip == "both" else (chip,):
            clean &= plant(Bench(build, each, work), limit)
    sys.exit(not clean)


if __name__ == "__main__":
    if "HK_PLANT" in os.environ:
        as_clang(sys.argv[1:])
    else:
        main()
