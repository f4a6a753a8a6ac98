"""Quantisation against NumPy, codes and scales bit for bit."""

import numpy as np

from oracle import check, f32, finish, run, to

rng = np.random.default_rng(3)
LARGEST = {"i8": 127.0, "f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E5M2": 57344.0, "f8E5M2FNUZ": 57344.0}


def code(q, dtype):
    return np.clip(np.rint(np.nan_to_num(q)), -127, 127) if dtype == "i8" else to(dtype, q)


def quantize(x, dtype, group, floor=0.0, limit=None, power_of_two=False):
    limit = limit or LARGEST[dtype]
    n = x.shape[-1]
    q, scales = np.empty_like(x), []
    for g in range(0, n, group):
        part = x[..., g : g + group]
        amax = np.abs(part).max(-1, keepdims=True)
        s = f32(np.where(amax < floor, floor, amax) / limit)
        s = np.where(s == 0, 1.0, s)
        if power_of_two:
            s = np.where(np.isnan(s), s, 2.0 ** np.maximum(np.ceil(np.log2(s)), -126))
        q[..., g : g + group] = code(np.clip(f32(part / s), -limit, limit), dtype)
        scales.append(s)
    return q, np.concatenate(scales, -1)


with np.errstate(all="ignore"):
    x = to("bf16", rng.normal(size=(6, 300)) * 10.0 ** rng.integers(-6, 7, (6, 1)))
    x[2] = 0
    x[3, 5] = np.nan
    for dtype in LARGEST:
        case = run("hk.quantize per_token %0 : INS -> OUTS", [(x, "bf16")], [(x.shape, dtype), ((6, 1), "f32")])
        check("per_token " + dtype, case, quantize(x, dtype, 300), exact=True)
        case = run("hk.quantize per_group %0 amax_floor 1.0e-2 limit 100.0 : INS -> OUTS",
                   [(x, "bf16")], [(x.shape, dtype), ((6, 3), "f32")])
        check("per_group " + dtype, case, quantize(x, dtype, 128, f32(1e-2), 100.0), exact=True)
        case = run("hk.quantize per_group %0 power_of_two : INS -> OUTS", [(x, "bf16")],
                   [(x.shape, dtype), ((6, 3), "f32")])
        check("power of two " + dtype, case, quantize(x, dtype, 128, power_of_two=True), exact=True)
        for scale, wide in [(np.array([0.37]), 1), (rng.uniform(0.1, 2, (6, 1)), 300), (rng.uniform(0.1, 2, (6, 3)), 128)]:
            scale = f32(scale)
            case = run("hk.quantize_static %0, %1 : INS -> OUTS", [(x, "bf16"), (scale, "f32")], [(x.shape, dtype)])
            full = np.repeat(scale, wide, -1)[..., :300]
            limit = LARGEST[dtype]
            check("static " + dtype, case, code(np.clip(f32(x / full), -limit, limit), dtype), exact=True)

    def mx(x, dtype, rounding):
        largest, top, carry = {"f4E2M1FN": (6.0, 2, 1.75), "f8E4M3FN": (448.0, 8, 1.9375),
                               "f8E5M2": (57344.0, 15, 1.875)}[dtype]
        q, scales = np.zeros_like(x), []
        for g in range(0, x.shape[-1], 32):
            part = x[..., g : g + 32]
            amax = np.abs(part).max(-1, keepdims=True)
            if rounding == "even":
                mantissa, exponent = np.frexp(amax)  # amax = mantissa * 2^exponent, mantissa in [0.5, 1)
                up = 2 * mantissa >= carry
                e = exponent - 1 + up - top
            elif rounding == "floor":
                e = np.floor(np.log2(f32(amax / largest)))
            elif rounding == "ceil":
                e = np.ceil(np.log2(f32(amax / largest)))
            else:
                e = (np.floor if rounding == "ocp" else np.ceil)(np.log2(amax)) - top
            e = np.where(amax == 0, -127, np.clip(e, -127, 127))
            bad = ~np.isfinite(amax)
            scales.append(np.where(bad, np.nan, 2.0**e))
            q[..., g : g + 32] = np.where(bad, 0, to(dtype, part / 2.0**e))
        return q, np.concatenate(scales, -1)

    y = x.copy()
    y[4, 40] = np.inf
    for dtype in ["f4E2M1FN", "f8E4M3FN", "f8E5M2"]:
        for rounding in ["even", "floor", "ceil", "ocp", "ocp_ceil"]:
            case = run(f"hk.quantize_mx {rounding} %0 : INS -> OUTS", [(y, "bf16")],
                       [(y.shape, dtype), ((6, 10), "f8E8M0FNU")])
            check(f"mx {rounding} {dtype}", case, mx(y, dtype, rounding), exact=True)

    for dtype in ["i8", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2"]:
        q, s = quantize(x, dtype, 128)
        case = run("hk.dequantize %0, %1 : INS -> OUTS", [(q, dtype), (s, "f32")], [(q.shape, "bf16")])
        check("dequantize " + dtype, case, to("bf16", f32(q * np.repeat(s, 128, -1)[:, :300])), exact=True)
    q, s = quantize(x, "i8", 300)
    case = run("hk.dequantize %0, %1 : INS -> OUTS", [(q, "i8"), (s, "f32")], [(q.shape, "f32")])
    check("dequantize per token", case, f32(q * s), exact=True)
# Every code in the other flavour: the same bits, half or twice the value. FN's -0 is 0
# there, and 240 of FNUZ is more than FN has.
def e4m3(bias, codes):
    exponent, mantissa = codes >> 3 & 15, codes & 7
    value = np.where(exponent == 0, mantissa / 8 * 2.0 ** (1 - bias), (1 + mantissa / 8) * 2.0 ** (exponent - bias))
    return np.where(codes & 128, -value, value)


bits = np.arange(256)
fn, fnuz = np.where(bits & 127 == 127, np.nan, e4m3(7, bits)), np.where(bits == 128, np.nan, e4m3(8, bits))
case = run("hk.reencode %0 : INS -> OUTS", [(fn, "f8E4M3FN")], [((256,), "f8E4M3FNUZ")])
check("reencode to fnuz", case, np.where(bits == 128, 0, np.where(bits & 127 == 127, np.nan, fnuz)), exact=True)
assert not np.signbit(case.values[0][128]), "FNUZ has no -0"
case = run("hk.reencode %0 : INS -> OUTS", [(fnuz, "f8E4M3FNUZ")], [((256,), "f8E4M3FN")])
check("reencode to fn", case, np.where(bits == 128, np.nan, np.where(bits & 127 == 127, np.copysign(448, fnuz), fn)), exact=True)
finish()
