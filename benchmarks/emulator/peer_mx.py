#!/usr/bin/env python3
"""Checks what no other emulator covers, the small float formats of gfx950, against formulas written down here in NumPy.

usage: peer_mx.py LIBHK_EMU [REGEX]

The other side is this file: the formats of the OCP OFP8 and MX specifications, and the rules of AMD's CDNA4 document
(7.1.5 layouts of F8F6F4, 7.2 scales, 7.3 conversions, 12 pseudocode of V_CVT_SCALEF32). Values are float64, in which
every product with a scale is exact; nothing is shared with the emulator. Transposing LDS reads follow the addresses of
public gfx950 kernels and the expectation of rocRoller's device test. Needs numpy.
"""
import os
import re
import sys

import numpy as np

import peer
import peer_cases as pc

FORMATS = {"fp8": (4, 3, 7), "bf8": (5, 2, 15), "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1)}
ORDER = ["fp8", "bf8", "fp6", "bf6", "fp4"]  # the codes of CBSZ and BLGP
SATURATE = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\ns_nop 4\n"


class Narrow:
    """All codes of a format by its definition."""

    def __init__(self, name):
        exponent_bits, mantissa_bits, bias = FORMATS[name]
        self.name, self.bits = name, 1 + exponent_bits + mantissa_bits
        code = np.arange(1 << self.bits)
        e, m = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
        unit = 1 << mantissa_bits
        value = np.where(e == 0, m / unit * 2.0 ** (1 - bias), (1 + m / unit) * 2.0 ** (e - bias))
        special = 1 << exponent_bits  # no exponent is special
        if name == "fp8":  # only the last code
            value[(code & 0x7f) == 0x7f] = np.nan
        if name == "bf8":  # IEEE's infinity and NaN
            special -= 1
            value[e == special] = np.where(m[e == special] == 0, np.inf, np.nan)
        self.values = np.where(code >> self.bits - 1, -value, value)
        half = self.values[:1 << self.bits - 1]
        self.finite = half[np.isfinite(half)]
        self.ulp = self.finite[-1] - self.finite[-2]

    def encode(self, x, saturate, toward_zero=False):
        """Codes of float64 x: the nearest, ties to even; what exceeds the range by half a unit overflows."""
        a = np.abs(x)
        top = len(self.finite) - 1
        low = np.clip(np.searchsorted(self.finite, a, side="right") - 1, 0, top)
        high = np.minimum(low + 1, top)
        middle = (self.finite[low] + self.finite[high]) / 2
        up = (a > middle) | (a == middle) & (low % 2 == 1)
        code = np.where(up & (not toward_zero), high, low)
        limit = self.finite[top] + self.ulp / 2
        over = (a >= limit if top % 2 else a > limit) | np.isinf(a)
        if toward_zero:
            over = a >= self.finite[top] + self.ulp
        beyond = top if saturate or self.bits < 8 else 0x7c if self.name == "bf8" else 0x7f
        code = np.where(over, beyond, code)
        return code | np.where(np.signbit(x), 1 << self.bits - 1, 0)


def wide_bits(kind, x):
    """float64 to f32, f16 or bf16, once rounded to nearest even."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "f16":
            return x.astype(np.float16).view(np.uint16).astype(np.uint32)
        bits = x.astype(np.float32).view(np.uint32)
    # x has few bits, so rounding to f32 first loses nothing that bf16 keeps.
    return bits if kind == "f32" else np.where(np.isnan(x), 0x7fc0, (bits.astype(np.int64) + 0x7fff + (bits >> 16 & 1)) >> 16)


def wide_values(kind, bits):
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):  # signaling NaN
        return (bits.astype(np.uint32) << (16 if kind == "bf16" else 0)).astype(np.uint32).view(np.float32).astype(np.float64)


def pack(fields, bits):
    """[..., n] fields of `bits` bits to [..., words], little endian."""
    count = (fields.shape[-1] * bits + 31) // 32
    words = np.zeros(fields.shape[:-1] + (count + 1,), np.uint64)
    for k in range(fields.shape[-1]):
        at = k * bits
        value = fields[..., k].astype(np.uint64) << np.uint64(at % 32)
        words[..., at // 32] |= value & np.uint64(0xffffffff)
        words[..., at // 32 + 1] |= value >> np.uint64(32)
    return words[..., :count].astype(np.uint32)


def unpack(words, bits, count):
    wide = np.concatenate([words, np.zeros_like(words[..., :1])], -1).astype(np.uint64)
    fields = []
    for k in range(count):
        at = k * bits
        two = wide[..., at // 32] | wide[..., at // 32 + 1] << np.uint64(32)
        fields.append(two >> np.uint64(at % 32) & np.uint64((1 << bits) - 1))
    return np.stack(fields, -1).astype(np.uint32)


def step(random):
    """V_PRNG_B32."""
    return random << 1 & 0xffffffff ^ np.where(random >> 31, 197, 0)


class Runner:
    def __init__(self, library):
        self.ours, self.failed, self.values = peer.Ours(library, "gfx950"), 0, 0

    def run(self, text, kind, inputs, mem=None):
        """inputs {register: words [lanes]} or [lanes, words]; lanes a multiple of 64. Returns [lanes, registers]."""
        case = pc.Case(b"", text, kind, "")
        if case.text not in self.ours.functions and self.ours.load([case]):
            raise RuntimeError("refused: " + text)
        lanes = len(next(iter(inputs.values())))
        state = np.zeros((lanes // 64, case.regs(), 64), np.uint32)
        for first, words in inputs.items():
            words = words.reshape(lanes, -1).astype(np.uint32)
            state[:, first:first + words.shape[1]] = words.reshape(-1, 64, words.shape[1]).transpose(0, 2, 1)
        scalars = np.full((lanes // 64, len(pc.SCALARS)), 0xffffffff, np.uint32)
        mem = np.zeros((lanes // 64, pc.MEM_WORDS), np.uint32) if mem is None else mem
        return self.ours.run(case, state, scalars, mem)[0].transpose(0, 2, 1).reshape(lanes, -1)

    def report(self, name, wrong, total, note=""):
        self.values += total
        self.failed += int(wrong) > 0
        print("%s: %d values%s%s" % (name, total, ", %d WRONG" % wrong if wrong else "", note), flush=True)


def regs(first, count):
    return "v%d" % first if count == 1 else "v[%d:%d]" % (first, first + count - 1)


def lanes_of(rows):
    """Pads to a multiple of 64 lanes by repeating the first row."""
    more = -len(rows) % 64
    return np.concatenate([rows, np.repeat(rows[:1], more, 0)])


def scale_value(bits):
    e = bits >> 23 & 0xff
    return np.where(e == 255, np.nan, 2.0 ** (e.astype(np.float64) - 127))


def single(runner, rng, name, wide):
    """v_cvt_scalef32_f32_fp8 and its kin: one byte of the source, for f16 to one half of the result."""
    form = Narrow(name)
    code, scale = [x.reshape(-1) for x in np.meshgrid(np.arange(256), np.arange(256) << 23)]
    want = wide_bits(wide, form.values[code] * scale_value(scale))
    for byte in range(4):
        for high in (0, 1)[:1 if wide == "f32" else 2]:
            source = code << 8 * byte | rng.integers(0, 1 << 32, len(code)) & ~(0xff << 8 * byte)
            text = "v_cvt_scalef32_%s_%s v40, v0, v60 op_sel:[%d,%d,%d]" % (wide, name, byte & 1, byte >> 1, high)
            out = runner.run(text, "matrix", {0: source, 60: scale, 40: np.full(len(code), 0x12345678)})[:, 40]
            got = out if wide == "f32" else out >> np.uint32(16 * high) & 0xffff
            kept = wide == "f32" or (out >> np.uint32(16 - 16 * high) & 0xffff) == (0x1234 if high == 0 else 0x5678)
            nan = np.isnan(wide_values(wide, want)) & np.isnan(wide_values(wide, got))
            runner.report(text, ((got != want) & ~nan | np.logical_not(kept)).sum(), got.size)


def groups(format_name, direction):
    """How many elements an instruction takes, and (op_sel, byte) of each place of its small side."""
    bits = Narrow(format_name).bits
    if bits == 6:
        return 32, [("", 0)]
    if bits == 4 or direction == "sr" and bits == 8:
        return (2 if bits == 4 else 1), [(text, k) for k, text in enumerate(("[%d,%d]" % (k & 1, k >> 1)) for k in range(4))]
    return 2, [("[0]", 0), ("[1]", 2)]


def up(runner, rng, name, wide):
    """Every code times every exponent of the scale, from every place."""
    form = Narrow(name)
    count, places = groups(name, "up")
    codes = np.stack(np.meshgrid(np.arange(1 << form.bits), np.arange(256)), -1).reshape(-1, 2)
    fields = np.concatenate([codes[:, :1], rng.integers(0, 1 << form.bits, (len(codes), count - 1))], -1)
    scale = codes[:, 1].astype(np.uint32) << 23 | rng.integers(0, 1 << 23, len(codes)).astype(np.uint32)
    words = 1 if wide != "f32" and count < 32 else count // (1 if wide == "f32" else 2)
    want = wide_bits(wide, form.values[fields] * scale_value(scale)[:, None])
    for select, byte in places:
        source = pack(fields, form.bits)
        if count < 32:
            source = source << np.uint32(8 * byte) | rng.integers(0, 1 << 32, source.shape, dtype=np.uint32) \
                & ~np.uint32((1 << form.bits * count) - 1 << 8 * byte)
        op_sel = "" if not select else " op_sel:[%s,0]" % (select[1:-1] + (",0" if len(select) == 3 else ""))
        text = "v_cvt_scalef32_%s_%s_%s %s, %s, v60%s" % ("pk32" if count == 32 else "pk", wide, name, regs(40 if words < 32 else 6, words),
                                                         regs(0, source.shape[1]), op_sel)
        out = runner.run(text, "matrix", {0: source, 60: scale})
        first = 40 if words < 32 else 6
        got = unpack(out[:, first:first + words], 32 if wide == "f32" else 16, count)
        nan = np.isnan(wide_values(wide, want)) & np.isnan(wide_values(wide, got))
        runner.report(text, ((got != want) & ~nan).sum(), got.size)


def sources(wide, form, rng):
    """Every f16 and bf16; for f32 every code, middle and neighbour of both, and random bits."""
    if wide != "f32":
        return np.arange(1 << 16, dtype=np.uint32)
    middle = (form.finite[:-1] + form.finite[1:]) / 2
    points = np.concatenate([form.finite, middle, [form.finite[-1] + form.ulp / 2, form.finite[-1] + form.ulp, np.inf]])
    bits = points.astype(np.float32).view(np.uint32)
    bits = np.concatenate([bits, bits + 1, np.maximum(bits, 1) - 1, [0, 1, 0x7fffff, 0x800000, 0x7f7fffff, 0x7fc00000, 0x7f800001]])
    bits = np.concatenate([bits, bits | 0x80000000, rng.integers(0, 1 << 32, 20000)])
    return bits.astype(np.uint32)


def down(runner, rng, name, wide):
    """Values over scales to the nearest code, with and without FP16_OVFL, to every place."""
    form = Narrow(name)
    count, places = groups(name, "down")
    value = sources(wide, form, rng)
    # Around each point with scale 1 and others; the mantissa of the scale means nothing.
    exponent = np.concatenate([np.full(len(value), 127), rng.integers(0, 256, len(value)), rng.integers(110, 145, len(value))])
    value = np.tile(value, 3)
    if wide == "f32":  # the points themselves, scaled
        x = wide_values("f32", value) * np.where(np.abs(exponent - 127) < 60, 2.0 ** (exponent - 127), 1)
        value = np.where(np.isfinite(x), wide_bits("f32", x), value)
    value, exponent = lanes_of(value), lanes_of(exponent)
    fields = np.concatenate([value[:, None], rng.choice(value, (len(value), count - 1))], -1)
    scale = exponent.astype(np.uint32) << 23 | rng.integers(0, 1 << 23, len(value)).astype(np.uint32)
    with np.errstate(invalid="ignore"):  # the NaN scale
        x = wide_values(wide, fields) / scale_value(scale)[:, None]
    stated = ~np.isnan(x) if form.bits < 8 else np.full(x.shape, True)  # NaN to a format without one
    for ovfl in (False, True):
        with np.errstate(invalid="ignore"):
            want = form.encode(x, ovfl)
        for select, byte in places:
            two = wide == "f32" and count == 2
            interleaved = wide == "f32" and count == 32
            if interleaved:
                inputs = {0: fields[:, 0::2], 16: fields[:, 1::2]}  # S0 and S1 in turns
                operands = "v[0:15], v[16:31]"
            elif two:
                inputs, operands = {0: fields}, "v0, v1"
            else:
                packed = pack(fields, 32 if wide == "f32" else 16)
                inputs, operands = {0: packed}, regs(0, packed.shape[1])
            prefix = "2xpk16" if interleaved else "pk32" if count == 32 else "pk"
            numbers = "" if not select else "%s,%s" % ("0,0,0" if two else "0,0", select[1:-1])
            if select and form.bits == 4:
                numbers = "0,0,%s" % select[1:-1]
            words = max(1, form.bits * count // 32)
            text = "v_cvt_scalef32_%s_%s_%s %s, %s, v60%s" % (prefix, name, wide, regs(40, words), operands,
                                                             " op_sel:[%s]" % numbers if select else "")
            old = rng.integers(0, 1 << 32, (len(value), words), dtype=np.uint32)
            out = runner.run((SATURATE if ovfl else "") + text, "matrix", {**inputs, 40: old, 60: scale})[:, 40:40 + words]
            if count < 32:
                mask = np.uint32((1 << form.bits * count) - 1 << 8 * byte)
                outside = ((out ^ old) & ~mask != 0).sum()
                out = (out & mask) >> np.uint32(8 * byte)
            else:
                outside = 0
            got = unpack(out, form.bits, count)
            nan = np.isnan(form.values[want]) & np.isnan(form.values[got])
            nan |= np.isnan(x) & np.isnan(form.values[got])
            wrong = ((got != want) & ~nan & stated).sum() + outside
            runner.report(text + (" FP16_OVFL" if ovfl else ""), wrong, int(stated.sum()))


def stochastic(runner, rng, name, wide):
    """Between the two neighbours; exact values stay; cut without randomness; steps of V_PRNG_B32; fair on the average."""
    form = Narrow(name)
    count, places = groups(name, "sr")
    lanes = 1 << 15
    top = form.finite[-1]
    raw = wide_bits(wide, rng.uniform(-top, top, (lanes, count)) * 2.0 ** -rng.integers(0, 5, (lanes, count)))
    value = wide_values(wide, raw)
    exponent = rng.integers(110, 145, lanes)
    if wide != "f32":
        exponent[:] = 127
    scaled = wide_bits("f32", value * 2.0 ** (exponent - 127.0)[:, None]) if wide == "f32" else raw
    source_bits = 32 if wide == "f32" else 16
    source = pack(scaled, source_bits)
    low, scale = form.encode(value, True, toward_zero=True), exponent.astype(np.uint32) << 23
    size = form.values[low]
    exact = size == value
    steps = np.diff(form.finite)[np.minimum(low & (1 << form.bits - 1) - 1, len(form.finite) - 2)]
    fraction = np.abs(value - size) / steps
    operands = regs(0, source.shape[1])
    prefix = "sr_pk32" if count == 32 else "sr_pk" if count == 2 else "sr"
    select, byte = places[-1]
    words = max(1, form.bits * count // 32)
    text = "v_cvt_scalef32_%s_%s_%s %s, %s, v61, v60%s" % (prefix, name, wide, regs(40, words), operands,
                                                          " op_sel:[0,0,%s]" % select[1:-1] if select else "")

    def convert(seed, first=0):
        elements = pack(np.roll(scaled, -first, 1), source_bits)
        out = runner.run(text, "matrix", {0: elements, 60: scale, 61: seed})[:, 40:40 + words]
        return unpack(out >> np.uint32(8 * byte if count < 32 else 0), form.bits, count)

    wrong = (convert(np.zeros(lanes, np.uint32)) != low).sum()
    seed = rng.integers(0, 1 << 32, lanes).astype(np.uint32)
    got = convert(seed)
    rounded = (got != low) & ~exact
    wrong += (~((got == low) | (got == low + 1) & ~exact)).sum()
    # Each further element has the next number: the same as the first element of a conversion with that seed.
    number = seed.astype(np.int64)
    for k in range(1, min(count, 6)):
        number = step(number)
        wrong += (convert(number.astype(np.uint32), k)[:, 0] != got[:, k]).sum()
    bias = abs(rounded[~exact].mean() - fraction[~exact].mean())
    wrong += bias > 0.01
    runner.report(text, wrong, 2 * got.size, " (rounded up %.3f, fractions %.3f)" % (rounded[~exact].mean(), fraction[~exact].mean()))


def transposing(runner, rng):
    """16 lanes read a tile of n rows of 16 elements, one part of a row a lane; lane j gets column j."""
    for bits, size in ((16, 8), (8, 8), (6, 12), (4, 8)):
        per = size * 8 // bits
        fields = rng.integers(0, 1 << bits, (16, 64, per))
        raw = pack(fields, bits)  # [waves, lanes, words]
        slots = np.stack([rng.permutation(64) for _ in range(16)])
        mem = np.zeros((16, pc.MEM_WORDS), np.uint32)
        for w in range(16):
            for l in range(64):
                mem[w, slots[w, l] * 4:slots[w, l] * 4 + size // 4] = raw[w, l]
        text = "ds_read_b%d_tr_b%d %s, v0" % (size * 8, bits, regs(24, size // 4))
        out = runner.run(text, "lds", {0: (slots * 16).reshape(-1)}, mem)[:, 24:24 + size // 4]
        got = unpack(out.reshape(16, 64, -1), bits, per)
        # [wave, group, row of the tile, column]: 16 / per lanes hold one row
        tile = fields.reshape(16, 4, per, 16)
        want = tile.transpose(0, 1, 3, 2).reshape(16, 64, per)
        runner.report(text, (got != want).sum(), got.size)


def matrix(runner, rng, m, depth):
    """F8F6F4 with every pair of formats and, scaled, every byte of the scales."""
    blocks, lane_groups = depth // 32, 64 // m
    d_regs = m * m // 64
    for a_name in ORDER:
        for b_name in ORDER:
            a, b = Narrow(a_name), Narrow(b_name)
            for scaled in (None, (0, 3), (1, 2), (2, 0), (3, 1)):
                waves = 8
                codes = [rng.integers(0, 1 << f.bits, (waves, m, depth)) for f in (a, b)]
                special = rng.random((2, waves)) < 0.25  # codes that are no numbers in some waves only
                words, values = [], []
                for k, f in enumerate((a, b)):
                    plain = rng.choice(np.flatnonzero(np.isfinite(f.values)), codes[k].shape)
                    codes[k] = np.where(special[k][:, None, None] | np.isfinite(f.values)[codes[k]], codes[k], plain)
                    values.append(f.values[codes[k]])
                    # The tables of 7.1.5: 32 elements a lane in a row for 4 and 6 bits, two runs of 16 for 8.
                    at = np.arange(depth)
                    if f.bits == 8:
                        group, item = at // 16 % lane_groups, at // (16 * lane_groups) * 16 + at % 16
                    else:
                        group, item = at // 32, at % 32
                    fields = np.zeros((waves, 64, 32), np.int64)
                    for row in range(m):
                        fields[:, group * m + row, item] = codes[k][:, row]
                    words.append(pack(fields, f.bits).reshape(waves * 64, -1))
                c = rng.integers(-64, 65, (waves, m, m)).astype(np.float64)
                inputs = {0: words[0], 8: words[1]}
                lane_c = np.zeros((waves, 64, d_regs), np.float64)
                i, j = np.meshgrid(np.arange(m), np.arange(m), indexing="ij")
                rows = 64 // m  # output: groups of four rows (7.1.4.2)
                item, lane = i % 4 + 4 * (i // (4 * rows)), j + m * (i // 4 % rows)
                lane_c[:, lane, item] = c
                inputs[16] = wide_bits("f32", lane_c).reshape(waves * 64, -1)
                name = "%dx%dx%d_f8f6f4" % (m, m, depth)
                text = "v_mfma_%sf32_%s %s, %s, %s, %s" % ("scale_" if scaled else "", name, regs(48, d_regs), regs(0, words[0].shape[1]),
                                                         regs(8, words[1].shape[1]), regs(16, d_regs))
                factors = []
                if scaled:
                    for k in range(2):
                        e = rng.integers(120, 135, (waves, m, blocks, 4))
                        e[0, 0, 0] = 255  # NaN
                        lane_words = np.zeros((waves, 64), np.uint32)
                        for row in range(m):
                            for block in range(blocks):
                                word = sum(e[:, row, block, byte].astype(np.uint32) << np.uint32(8 * byte) for byte in range(4))
                                lane_words[:, block * m + row] = word
                        inputs[32 + k] = lane_words.reshape(-1)
                        chosen = e[..., scaled[k]]
                        factors.append(np.where(chosen == 255, np.nan, 2.0 ** (chosen - 127.0)))
                    text += ", v32, v33 op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]" % (scaled[0] & 1, scaled[1] & 1, scaled[0] >> 1, scaled[1] >> 1)
                text += "".join(" %s:%d" % item for item in (("cbsz", ORDER.index(a_name)), ("blgp", ORDER.index(b_name))) if item[1])
                out = runner.run(text, "matrix", inputs)
                got = wide_values("f32", out[:, 48:48 + d_regs]).reshape(waves, 64, d_regs)[:, lane, item]
                with np.errstate(invalid="ignore"):
                    x = [v.reshape(waves, m, blocks, 32) for v in values]
                    for k in range(2 if scaled else 0):
                        x[k] = x[k] * factors[k][..., None]
                    x = [v.reshape(waves, m, depth) for v in x]
                    terms = x[0][:, :, None, :] * x[1][:, None, :, :]
                    want, magnitude = terms.sum(-1) + c, np.abs(terms).sum(-1) + np.abs(c)
                    # The order of the sum is not documented: bound of an f32 accumulation.
                    near = np.abs(got - want) <= 2.0 ** -23 * depth * magnitude
                good = near | (np.isnan(got) & np.isnan(want)) | (got == want)
                runner.report(text, (~good).sum(), got.size)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    runner, rng = Runner(os.path.abspath(sys.argv[1])), np.random.default_rng(1)
    parts = [("up %s %s" % (n, w), lambda n=n, w=w: up(runner, rng, n, w)) for n in ORDER for w in ("f32", "f16", "bf16")]
    parts += [("up single %s %s" % (n, w), lambda n=n, w=w: single(runner, rng, n, w)) for n in ORDER[:2] for w in ("f32", "f16")]
    parts += [("down %s %s" % (n, w), lambda n=n, w=w: down(runner, rng, n, w)) for n in ORDER for w in ("f32", "f16", "bf16")]
    parts += [("sr %s %s" % (n, w), lambda n=n, w=w: stochastic(runner, rng, n, w)) for n in ORDER for w in ("f32", "f16", "bf16")]
    parts += [("transpose", lambda: transposing(runner, rng)), ("mfma 16", lambda: matrix(runner, rng, 16, 128)),
              ("mfma 32", lambda: matrix(runner, rng, 32, 64))]
    for name, part in parts:
        if wanted.search(name):
            part()
    print("%d values compared, %d forms differ" % (runner.values, runner.failed))
    sys.exit(runner.failed > 0)


if __name__ == "__main__":
    main()
