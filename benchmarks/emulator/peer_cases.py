"""One instruction as a state transition: encodings, operand values, and a kernel that loads a state, executes the
instruction and stores the state again.

A state is a window of vector registers, s16 to s31, VCC, EXEC, SCC and M0, and 4 KiB of memory (LDS or global). Sources
are v0, v4, v8 (s16, s20), the result v24 (s24); MFMA has a window and places of its own.
"""
import re
import subprocess

import numpy as np

LANES = 64
MEM_WORDS = 1024
SCALARS = ["s%d" % k for k in range(16, 32)] + ["vcc_lo", "vcc_hi", "exec_lo", "exec_hi", "scc", "m0"]

# Control flow, traps, clocks, mode registers: not functions of the state.
SKIPPED = re.compile(
    r"s_(branch|cbranch|call|setpc|swappc|getpc|rfe|trap|endpgm|sleep|setreg|getreg|sethalt|set_gpr|setvskip|barrier|"
    r"sendmsg|icache|dcache|nop|wait|memtime|memrealtime|incperf|decperf|setprio|atc|movrel|getfpexcp|ttrace)|"
    r"v_(clrexcp|nop|accvgpr|movrel|screen|interp|mfma_ld)|ds_(gws|append|consume|ordered|nop)|lds_direct|buffer_|tbuffer_|flat_|scratch_")


class Case:
    """One encoding. kind is scalar, vector, matrix, lds or global."""

    def __init__(self, code, text, kind, variant):
        self.code, self.text, self.kind, self.variant = code, text.strip(), kind, variant
        self.mnemonic = self.text.split()[0]

    def regs(self):
        return 80 if self.kind == "matrix" else 32


def words(*values):
    return b"".join(int(v).to_bytes(4, "little") for v in values)


def vop3(op, low=0, src=(256, 260, 264), high=0, dst=24, base=0xD0000000):
    return words(base | op << 16 | low | dst, src[0] | src[1] << 9 | src[2] << 18 | high)


def encodings():
    """(bytes, kind, variant) over the opcode space; most of it is no instruction."""
    for op in range(0x60):
        yield words(0x80000000 | op << 23 | 24 << 16 | 20 << 8 | 16), "scalar", "sop2"
    for op in range(0x1c):
        for imm in (0x1234, 0xfff0):
            yield words(0xB0000000 | op << 23 | 24 << 16 | imm), "scalar", "sopk"
    for op in range(0x100):
        yield words(0xBE800000 | 24 << 16 | op << 8 | 16), "scalar", "sop1"
    for op in range(0x80):
        yield words(0xBF000000 | op << 16 | 20 << 8 | 16), "scalar", "sopc"
    for op in range(0x100):
        yield words(0x7E000000 | 24 << 17 | op << 9 | 256), "vector", "vop1"
        yield words(0x7C000000 | op << 17 | 4 << 9 | 256), "vector", "vopc"
    for op in range(0x3e):
        yield words(op << 25 | 24 << 17 | 4 << 9 | 256), "vector", "vop2"
        yield words(op << 25 | 24 << 17 | 4 << 9 | 16), "vector", "vop2 scalar source"
        yield words(op << 25 | 24 << 17 | 4 << 9 | 255, 0x3fb504f3), "vector", "vop2 literal"
    for op in range(0x400):
        if op >= 0x380 and op < 0x400:  # VOP3P
            continue
        yield vop3(op), "vector", "vop3"
        yield vop3(op, low=24 << 8), "vector", "vop3 carry"
        yield vop3(op, low=5 << 8), "vector", "vop3 abs"
        yield vop3(op, high=3 << 29), "vector", "vop3 neg"
        yield vop3(op, low=1 << 15), "vector", "vop3 clamp"
        yield vop3(op, high=1 << 27), "vector", "vop3 omod"
        yield vop3(op, low=0b1101 << 11), "vector", "vop3 op_sel"
        yield vop3(op, src=(16, 260, 242)), "vector", "vop3 scalar source"
    for op in range(0x80):
        full = 3 << 27
        yield vop3(op, low=1 << 14, high=full, base=0xD3800000), "vector", "vop3p"
        yield vop3(op, low=5 << 11, high=1 << 27, base=0xD3800000), "vector", "vop3p op_sel"
        yield vop3(op, low=1 << 14 | 3 << 8, high=full | 5 << 29, base=0xD3800000), "vector", "vop3p neg"
        yield vop3(op, low=1 << 14 | 1 << 15, high=full, base=0xD3800000), "vector", "vop3p clamp"
        for low in (0, 1 << 8, 1 << 8 | 1 << 11):  # cbsz, abid
            for blgp in (0, 1, 3, 6):
                yield (vop3(op, low=low, src=(256, 264, 272), high=blgp << 29, dst=48, base=0xD3800000), "matrix",
                       "mfma%s%s" % (" cbsz:1 abid:%d" % (low >> 11) if low else "", " blgp:%d" % blgp if blgp else ""))
    for op in range(0x100):
        # result and source selections: whole, bytes, words that keep the rest, sign extended
        for sel, name in ((0x060606, "sdwa"), (0x000301, "sdwa bytes"), (0x050415, "sdwa words"), (0x0c090a, "sdwa signed")):
            extra = sel << 8
            if op < 0x3f:
                yield words(op << 25 | 24 << 17 | 4 << 9 | 0xf9, extra), "vector", "vop2 " + name
            yield words(0x7E000000 | 24 << 17 | op << 9 | 0xf9, extra), "vector", "vop1 " + name
            yield words(0x7C000000 | op << 17 | 4 << 9 | 0xf9, extra & 0xffff00ff), "vector", "vopc " + name
    for op, name in ((0x7E000000 | 24 << 17 | 1 << 9, "mov"), (1 << 25 | 24 << 17 | 4 << 9, "add_f32"),
                     (0x34 << 25 | 24 << 17 | 4 << 9, "add_u32")):
        for ctrl in [0x1b, 0x4e, 0xb1, 0x101, 0x104, 0x10f, 0x111, 0x118, 0x121, 0x128, 0x130, 0x134, 0x138, 0x13c, 0x140,
                     0x141, 0x142, 0x143]:
            for bound in (0, 1):
                for masks in (0xff, 0xa5):
                    yield words(op | 0xfa, masks << 24 | bound << 19 | ctrl << 8), "vector", "dpp " + name
    for op in range(0x100):
        for fields in (24 << 24 | 8 << 16 | 4 << 8, 24 << 24 | 4 << 8, 24 << 24, 8 << 16 | 4 << 8, 4 << 8):
            yield words(0xD8000000 | op << 17 | 1 << 8, fields), "lds", "ds"
            yield words(0xD8000000 | op << 17 | 8, fields), "lds", "ds"
    for op in range(0x80):
        for sc0 in (0, 1):
            for fields in (24 << 24 | 16 << 16 | 4 << 8, 24 << 24 | 16 << 16, 16 << 16 | 4 << 8):
                yield words(0xDC008000 | op << 18 | sc0 << 16 | 8, fields), "global", "global" + (" sc0" if sc0 else "")


def cases(chip, wanted, variants):
    """The encodings that LLVM prints as exactly one instruction."""
    raw = list(dict.fromkeys(encodings()))
    # Each encoding is followed by an s_nop with its number; an encoding that is cut short swallows it.
    lines = "".join(" ".join("0x%02x" % b for b in code + words(0xBF800000 | k)) + "\n"
                    for k, (code, _, _) in enumerate(raw))
    shown = subprocess.run(["llvm-mc-22", "--disassemble", "--triple=amdgcn-amd-amdhsa", "--mcpu=" + chip], input=lines,
                           capture_output=True, text=True)
    bad = {int(n) - 1 for n in re.findall(r"<stdin>:(\d+):", shown.stderr)}
    result, text, last = [], [], -1
    for line in shown.stdout.split("\n"):
        line = re.sub(r"\s*(//|;).*", "", line).strip()
        number = re.match(r"s_nop (\w+)$", line)
        if not number:
            text += [line] if line and not line.startswith(".") else []
            continue
        k, lines_of_it, text = int(number.group(1), 0), text, []
        whole, last = last == k - 1 and len(lines_of_it) == 1, k
        if not whole or k in bad:
            continue
        code, kind, variant = raw[k]
        case = Case(code, lines_of_it[0], kind, variant)
        # s[0:1] holds the kernel's arguments; a lane mask in vector registers is no instruction of gfx9.
        foreign = re.search(r"s\[0:1\]|Invalid|^v_(cndmask|addc|subb|subbrev)_.*v\[8:9\]$", case.text)
        matrix = bool(re.match(r"v_(mfma|smfmac)", case.mnemonic))
        # Bits that LLVM does not print mean nothing to the instruction.
        shown = {"abs": r"\|", "neg": "-v|neg", "clamp": "clamp", "omod": "mul:|div:", "op_sel": "op_sel",
                 "carry": r"v[\[\d:\]]+, s\[24:25\]"}
        if not re.search(shown.get(variant.split()[-1], ""), case.text):
            continue
        if foreign or SKIPPED.match(case.mnemonic) or matrix != (kind == "matrix"):
            continue
        if not wanted.search(case.mnemonic) or not variants.search(variant):
            continue
        result.append(case)
    seen = {}
    for case in result:  # one case for each text
        seen.setdefault(case.text, case)
    return list(seen.values())


BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "i32": 32}
FP8 = {("fp8", "gfx942"): (3, 8), ("bf8", "gfx942"): (2, 16), ("fp8", "gfx950"): (3, 7), ("bf8", "gfx950"): (2, 15)}


def encode(kind, chip, value):
    """The bits of a small integer."""
    if kind in ("i8", "i32"):
        return int(value) & (0xff if kind == "i8" else 0xffffffff)
    if kind in ("f32", "xf32", "bf16"):
        bits = int(np.float32(value).view(np.uint32))
        return bits >> 16 if kind == "bf16" else bits
    if kind == "f64":
        return int(np.float64(value).view(np.uint64))
    if kind == "f16":
        return int(np.float16(value).view(np.uint16))
    if not value:
        return 0
    mantissa, bias = FP8[kind, chip]
    exponent = int(np.floor(np.log2(abs(value))))
    return (0x80 if value < 0 else 0) | (exponent + bias) << mantissa | int((abs(value) / 2 ** exponent - 1) * (1 << mantissa))


F32_EDGES = [0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40000000,
             0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x4f000000, 0xcf000000,
             0x4f800000, 0x5f000000, 0x47800000, 0x477fe000, 0x33800000, 0x3fc00000, 0x40200000, 0x40600000, 0xc0200000]
F16_EDGES = [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe55,
             0x7c01, 0x4100, 0x3e00, 0xc100, 0x77ff]
F64_EDGES = [0, 1 << 63, 1, 0xfffffffffffff, 1 << 52, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
             0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
             0x7ff0000000000001, 0x41dfffffffc00000, 0xc1e0000000000000, 0x41efffffffe00000, 0x4004000000000000,
             0x47efffffe0000000, 0x36a0000000000000, 0x3ca0000000000000]
INT_EDGES = [0, 1, 2, 0xffffffff, 0xfffffffe, 0x7fffffff, 0x80000000, 0x80000001, 31, 32, 33, 63, 64, 65, 15, 16, 17, 0xff,
             0x80, 0x7f, 0x8000, 0x7fff, 0xffff, 0x10000, 0x7fff8000, 0x80007fff, 0xfffe0001]
MODES = 10


def values(rng, mode, shape):
    """Words of one character; the last dimension but one is registers, so that 64-bit values fill pairs."""
    n = int(np.prod(shape))
    half = rng.integers(0, 1 << 16, (n, 2), dtype=np.uint32)
    if mode == 0:
        w = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    elif mode == 1:
        w = (rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))).astype(np.float32).view(np.uint32)
    elif mode == 2:
        w = rng.choice(np.array(F32_EDGES, np.uint32), n)
    elif mode in (3, 4):
        m = n // shape[-1] // 2 * shape[-1]
        if mode == 3:
            d = (rng.standard_normal(m) * np.exp2(rng.integers(-20, 34, m))).view(np.uint64)
        else:
            d = rng.choice(np.array(F64_EDGES, np.uint64), m)
        pair = np.stack([d & 0xffffffff, d >> np.uint64(32)]).astype(np.uint32)
        return pair.reshape(2, -1, shape[-1]).transpose(1, 0, 2).reshape(shape)
    elif mode in (5, 6):
        if mode == 5:
            h = (rng.standard_normal((n, 2)) * np.exp2(rng.integers(-6, 8, (n, 2)))).astype(np.float16).view(np.uint16)
        else:
            h = rng.choice(np.array(F16_EDGES, np.uint16), (n, 2))
        w = h[:, 0].astype(np.uint32) | h[:, 1].astype(np.uint32) << 16
    elif mode == 7:
        w = rng.choice(np.array(INT_EDGES, np.uint32), n)
    elif mode == 8:
        w = rng.integers(0, 70, n, dtype=np.uint32)
    else:
        w = np.array(F32_EDGES, np.uint32)[rng.integers(0, len(F32_EDGES), n)] ^ (half[:, 0] & rng.integers(0, 2, n).astype(np.uint32))
    return w.astype(np.uint32).reshape(shape)


def matrices(rng, case, chip, shape):
    """Small integers of the types that the mnemonic names, so that every sum is exact: A at v0, B at v8, C from v16."""
    types = [p for p in case.mnemonic.split("_") if p in BITS]
    if len(types) == 1:  # formats that operands choose: fp8 on both sides
        types += ["fp8", "fp8"]
    v = np.zeros(shape, np.uint32)
    for first, end, kind in ((0, 8, types[1]), (8, 16, types[-1]), (16, 80, types[0])):
        table = np.array([encode(kind, chip, x) for x in range(-4, 5)], np.uint64)
        bits, count = BITS[kind], end - first
        if bits == 64:
            pick = table[rng.integers(0, 9, (shape[0], count // 2, LANES))]
            v[:, first:end:2] = pick & np.uint64(0xffffffff)
            v[:, first + 1:end:2] = pick >> np.uint64(32)
        for k in range(32 // bits):
            v[:, first:end] |= (table[rng.integers(0, 9, (shape[0], count, LANES))] << np.uint64(k * bits)).astype(np.uint32)
    return v


def states(case, waves, seed, chip):
    """(vectors [waves, regs, 64], scalars [waves, 22], memory [waves, 1024])"""
    rng = np.random.default_rng(seed)
    regs = case.regs()
    v = np.empty((waves, regs, LANES), np.uint32)
    s = np.empty((waves, len(SCALARS)), np.uint32)
    for w in range(waves):
        if w % 3 == 2:  # operands of different characters
            for r in range(0, regs, 4):
                v[w, r:r + 4] = values(rng, int(rng.integers(MODES)), (4, LANES))
        else:
            v[w] = values(rng, w % MODES, (regs, LANES))
        for r in range(0, 16, 4):
            s[w, r:r + 4] = values(rng, int(rng.integers(MODES)), (4, 1))[:, 0]
    s[:, 16:20] = rng.integers(0, 1 << 32, (waves, 4), dtype=np.uint32)
    s[:, 20] = rng.integers(0, 2, waves)
    s[:, 21] = rng.integers(0, 64, waves)
    full = np.arange(waves) % 2 == 0
    if case.kind == "matrix":
        full[:] = True  # MFMA ignores EXEC
        v = matrices(rng, case, chip, v.shape)
    s[full, 18:20] = 0xffffffff
    if case.kind in ("lds", "global"):
        s[:, 21] = 0xffffffff
        for w in range(waves):  # a slot of 32 bytes for each lane
            v[w, 0] = rng.permutation(LANES) * 32
    mem = np.stack([values(rng, w % MODES, (MEM_WORDS // LANES, LANES)).reshape(-1) for w in range(waves)])
    return v, s, mem


def kernel(case, name):
    """The assembly of one case."""
    t = [".text", ".globl " + name, ".p2align 8", ".type %s,@function" % name, name + ":"]
    regs = case.regs()
    t += ["s_load_dwordx8 s[4:11], s[0:1], 0", "s_waitcnt lgkmcnt(0)", "v_lshlrev_b32 v127, 2, v0", "v_mov_b32 v125, v127"]
    # s[4:5] vectors, s[6:7] results, s[8:9] scalars, s[10:11] memory, each of this workgroup
    for base, stride in ((4, regs * 256), (6, (regs + 1) * 256), (8, 128), (10, MEM_WORDS * 4)):
        t += ["s_mul_i32 s3, s2, %d" % stride, "s_add_u32 s%d, s%d, s3" % (base, base),
              "s_addc_u32 s%d, s%d, 0" % (base + 1, base + 1)]
    t += ["s_load_dwordx16 s[16:31], s[8:9], 0", "s_load_dwordx4 s[32:35], s[8:9], 64", "s_load_dwordx2 s[36:37], s[8:9], 80"]
    if case.kind == "lds":
        for k in range(MEM_WORDS // LANES):
            t += ["global_load_dword v124, v127, s[10:11] offset:%d" % (k % 16 * 256), "s_waitcnt vmcnt(0)",
                  "ds_write_b32 v125, v124 offset:%d" % (k * 256)]
    t += ["v_mov_b32 v126, v127"]
    for r in range(regs):
        if r and r % 16 == 0:
            t += ["v_add_u32 v126, 0x1000, v126"]
        t += ["global_load_dword v%d, v126, s[4:5] offset:%d" % (r, r % 16 * 256)]
    t += ["s_waitcnt vmcnt(0) lgkmcnt(0)"]
    if case.kind == "global":
        t += ["s_mov_b64 s[16:17], s[10:11]"]
    t += ["s_mov_b64 vcc, s[32:33]", "s_mov_b32 m0, s37", "s_cmp_lg_u32 s36, 0", "s_mov_b64 exec, s[34:35]", "s_nop 7"]
    parts = [int.from_bytes(case.code[k:k + 4], "little") for k in range(0, len(case.code), 4)]
    t += [".long " + ", ".join("0x%08x" % part for part in parts) if parts else case.text]
    t += ["s_nop 15", "s_nop 7", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_cselect_b32 s36, 1, 0", "s_mov_b64 s[34:35], exec",
          "s_mov_b64 exec, -1", "s_mov_b64 s[32:33], vcc", "s_mov_b32 s37, m0", "v_mov_b32 v126, v127", "v_mov_b32 v124, 0", "s_nop 4"]
    for k in range(len(SCALARS)):
        t += ["v_writelane_b32 v124, s%d, %d" % (16 + k, k)]
    for r in range(regs + 1):
        if r and r % 16 == 0:
            t += ["v_add_u32 v126, 0x1000, v126"]
        t += ["global_store_dword v126, v%d, s[6:7] offset:%d" % (r if r < regs else 124, r % 16 * 256)]
    if case.kind == "lds":
        for k in range(MEM_WORDS // LANES):
            t += ["ds_read_b32 v124, v125 offset:%d" % (k * 256), "s_waitcnt lgkmcnt(0)",
                  "global_store_dword v127, v124, s[10:11] offset:%d" % (k % 16 * 256)]
    t += ["s_endpgm", ".size %s, .-%s" % (name, name), ".rodata", ".p2align 6", ".amdhsa_kernel " + name,
          ".amdhsa_user_sgpr_kernarg_segment_ptr 1", ".amdhsa_kernarg_size 32", ".amdhsa_next_free_vgpr 128",
          ".amdhsa_next_free_sgpr 64", ".amdhsa_accum_offset 128", ".amdhsa_float_denorm_mode_32 3",
          ".amdhsa_group_segment_fixed_size %d" % (MEM_WORDS * 4 if case.kind == "lds" else 0), ".end_amdhsa_kernel"]
    return "\n".join(t) + "\n"


def metadata(count):
    """Four pointers for each of the kernels k0, k1, ..."""
    args = "".join("      - {.size: 8, .offset: %d, .value_kind: global_buffer, .address_space: global}\n" % (8 * k) for k in range(4))
    kernels = "".join("""  - .name: k%d
    .symbol: k%d.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 64
    .vgpr_count: 128
    .max_flat_workgroup_size: 64
    .args:
%s""" % (k, k, args) for k in range(count))
    return ".amdgpu_metadata\namdhsa.version: [1, 2]\namdhsa.kernels:\n" + kernels + ".end_amdgpu_metadata\n"
