"""A decoder of N equal layers in base operators: layers.py N."""

import sys

ROWS, WEIGHT = "tensor<?x128xbf16>", "tensor<128x128xbf16>"
HEADS, WIDE = "tensor<?x2x64xbf16>", "tensor<?x256xbf16>"
PRODUCT = f"transpose_b : {ROWS}, {WEIGHT} -> {ROWS}"


def layer(i, x):
    """The text of a layer that reads %x, and the name of its result."""
    def product(name, operand):
        return f"  %{name}{i} = hk.matmul %{operand}, %{name} {PRODUCT}\n"

    def heads(name):
        return (f"  %{name}h{i} = tensor.expand_shape %{name}{i} [[0], [1, 2]] output_shape [%t, 2, 64] "
                f": {ROWS} into {HEADS}\n")
    text = f"  %n{i} = hk.rms_norm %{x}, %g epsilon 1.0e-06 : {ROWS}, tensor<128xbf16>\n"
    text += "".join(product(name, f"n{i}") + heads(name) for name in "qkv")
    for name in "qk":
        text += (f"  %{name}r{i} = hk.rope neox %{name}h{i}, %cos, %sin positions %p : {HEADS}, "
                 "tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>\n")
    text += (f"  %a{i} = hk.attention %qr{i}, %kr{i}, %vh{i} q_offsets %o kv_offsets %o scale 0.125 causal "
             f": {HEADS}, {HEADS}, {HEADS} q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> {HEADS}\n"
             f"  %ar{i} = tensor.collapse_shape %a{i} [[0], [1, 2]] : {HEADS} into {ROWS}\n")
    text += product("w", f"ar{i}") + f"  %s{i} = hk.add %{x}, %w{i} : {ROWS}\n"
    text += f"  %m{i} = hk.rms_norm %s{i}, %g epsilon 1.0e-06 : {ROWS}, tensor<128xbf16>\n"
    for name in ("gate", "up"):
        text += f"  %{name}{i} = hk.matmul %m{i}, %{name} transpose_b : {ROWS}, tensor<256x128xbf16> -> {WIDE}\n"
    text += (f"  %silu{i} = hk.silu %gate{i} : {WIDE}\n  %mul{i} = hk.mul %silu{i}, %up{i} : {WIDE}\n"
             f"  %down{i} = hk.matmul %mul{i}, %down transpose_b : {WIDE}, tensor<128x256xbf16> -> {ROWS}\n"
             f"  %y{i} = hk.add %s{i}, %down{i} : {ROWS}\n")
    return text, f"y{i}"


weights = "".join(f", %{name}: {WEIGHT}" for name in "qkvw")
weights += "".join(f", %{name}: tensor<256x128xbf16>" for name in ("gate", "up"))
print(f"func.func @model(%x: {ROWS}, %p: tensor<?xi32>, %o: tensor<?xi32>, %cos: tensor<64x32xbf16>, "
      f"%sin: tensor<64x32xbf16>, %g: tensor<128xbf16>{weights}, %down: tensor<128x256xbf16>) -> {ROWS} {{")
print(f"  %c0 = arith.constant 0 : index\n  %t = tensor.dim %x, %c0 : {ROWS}")
value = "x"
for number in range(int(sys.argv[1])):
    lines, value = layer(number, value)
    print(lines, end="")
print(f"  return %{value} : {ROWS}\n}}")
