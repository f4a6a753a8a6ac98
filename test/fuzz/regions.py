# ===- regions.py - Regions of attention as text --------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Bodies of `score`, `slope` and `weight` regions of hk.attention and hk.attention_backward,
# each a list of lines that end in %t, and the text that puts them into a region.
# Which of them a graph gets is its own fuzzer's choice.

#: Keys more than three behind a query are not seen.
MASK = ["%three = hk.constant 3 : tensor<i32>", "%d = hk.sub %j, %three : tensor<i32>",
        "%c = hk.compare le %d, %i : tensor<i32> -> tensor<i1>", "%never = hk.constant 0xFF800000 : tensor<f32>",
        "%t = hk.select %c, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>"]

#: Weights without a normaliser, and their slope.
SILU = ["%y = hk.silu %s : tensor<f32>", "%n = hk.constant 0.0625 : tensor<f32>", "%t = hk.mul %y, %n : tensor<f32>"]
SILU_SLOPE = ["%sigma = hk.sigmoid %s : tensor<f32>", "%one = hk.constant 1.0 : tensor<f32>",
              "%rest = hk.sub %one, %sigma : tensor<f32>", "%more = hk.mul %s, %rest : tensor<f32>",
              "%part = hk.add %one, %more : tensor<f32>", "%y = hk.mul %sigma, %part : tensor<f32>",
              "%n = hk.constant 0.0625 : tensor<f32>", "%t = hk.mul %y, %n : tensor<f32>"]


def tensor(*parts):
    return "tensor<" + "x".join(str(p) for p in parts) + ">"


def slopes(name, made):
    """Distance times the slope of a head, from argument `name` of type `made`."""
    return [f"%x = hk.gather_elements %{name} [%h] : {made} [tensor<i32>] -> tensor<f32>",
            "%d = hk.sub %j, %i : tensor<i32>", "%f = hk.cast %d : tensor<i32> -> tensor<f32>",
            "%m = hk.mul %x, %f : tensor<f32>", "%t = hk.sub %s, %m : tensor<f32>"]


def dropout(seed, mixes):
    """A quarter of the weights become 0, by argument `seed`; operator `mixes` puts the head into the place."""
    return ["%row = hk.mul %i, %nk : tensor<i32>", "%c = hk.add %row, %j : tensor<i32>", f"%e = hk.{mixes} %c, %h : tensor<i32>",
            "%w = hk.cast %e : tensor<i32> -> tensor<i64>",
            f"%u = hk.philox %{seed}, %w : tensor<i64>, tensor<i64> -> tensor<f32>", "%rate = hk.constant 0.25 : tensor<f32>",
            "%kept = hk.compare gt %u, %rate : tensor<f32> -> tensor<i1>", "%up = hk.constant 1.5 : tensor<f32>",
            "%zero = hk.constant 0.0 : tensor<f32>",
            "%t = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>"]


def masked(body, hidden):
    """The result of `body`, or the number `hidden` where MASK sees nothing."""
    mask = [line.replace("%never = hk.constant 0xFF800000", f"%never = hk.constant {hidden}").replace("%s,", "%made,")
            for line in MASK]
    return [line.replace("%t =", "%made =") for line in body] + mask


def text(reads, score, weight, slope=()):
    """The regions that have a body; `reads` are the arguments that both read, with their types."""
    made = ""  # names of a function are not to be used again in its regions
    for word, body in (("score", score), ("slope", slope), ("weight", weight)):
        if not body:
            continue
        arguments = ["%s: tensor<f32>"] * (word != "weight")
        arguments += [f"%{n}: tensor<i32>" for n in ("seq", "h", "i", "j", "nq", "nk")] + [f"%{n}_t: {t}" for n, t in reads]
        for n, _ in reads:
            body = [line.replace(f"%{n} ", f"%{n}_t ").replace(f"%{n},", f"%{n}_t,") for line in body]
        made += f" {word} {{\n  ^bb0({', '.join(arguments)}):\n    " + "\n    ".join(body)
        made += "\n    hk.yield %t : tensor<f32>\n  }"
    return made
