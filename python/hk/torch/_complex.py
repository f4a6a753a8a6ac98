"""Lowering of complex numbers, which hk has none of: their real and imaginary parts, side by side.
So rotary embeddings that a model writes as products of complex numbers are products of real ones, and
a Fourier transform along a dim of known size is products with its cosines and sines."""

import math
import typing

import torch

from ..errors import UnsupportedModel
from ._aten import IDENTITY, Result, lower, operand
from ._builder import Builder, Size, Value

MOVES = {"view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "transpose", "permute", "select",
         "slice", "narrow", "expand", "index_select", "index", "repeat", "t", "flatten"} | IDENTITY
Weight = typing.Callable[[str, torch.Tensor], Value]


class Complex(typing.NamedTuple):
    """The parts of a tensor of complex numbers, of one logical shape."""

    real: Value
    imag: Value


def has_complex(value: typing.Any) -> bool:
    """Whether what PyTorch says of a value is of a tensor of complex numbers."""
    if isinstance(value, (list, tuple)):
        return any(map(has_complex, value))
    return isinstance(value, torch.Tensor) and value.is_complex()


class Parts:
    """Lowers one operator that takes or makes complex numbers; `weight` makes constants of tensors."""

    def __init__(self, b: Builder, name: str, shape: tuple[Size, ...], weight: Weight):
        self.b, self.name, self.shape, self.weight = b, name, shape, weight

    def lower(self, args: tuple, kwargs: dict) -> typing.Any:
        method = getattr(self, "_" + self.name.lstrip("_"), None)
        if method is not None:
            return method(*args)
        if self.name in MOVES:
            return self._each(args, kwargs)
        raise UnsupportedModel(f"{self.name} of complex numbers; hk's import has their sums, products, "
                               "parts, views and Fourier transforms: write it with real numbers")

    def _each(self, args: tuple, kwargs: dict) -> Complex:
        return Complex(*(lower(self.b, self.name, Result(self.shape, part.element),
                               (part, *args[1:]), kwargs) for part in args[0]))

    def _real_op(self, name: str, *args: typing.Any, shape: tuple | None = None) -> Value:
        return lower(self.b, name, Result(self.shape if shape is None else shape, "f32"), args, {})

    def _parts(self, x: typing.Any) -> Complex:
        """Of a real tensor or a number, too."""
        if isinstance(x, Complex):
            return x
        zero = self.b.constant(0.0, "f32")
        if isinstance(x, complex):
            return Complex(*(self.b.constant(part, "f32") for part in (x.real, x.imag)))
        x = self.b.cast(operand(self.b, x, "f32"), "f32")
        return Complex(x, zero._replace(shape=x.shape, dims=(None,) * len(x.shape)))

    # ---- made of real numbers, and the other way

    def _view_as_complex(self, x: Value) -> Complex:
        return Complex(*(self.b.cast(lower(self.b, "select", Result(self.shape, x.element),
                                           (x, -1, i), {}), "f32") for i in (0, 1)))

    def _complex(self, real: Value, imag: Value) -> Complex:
        return Complex(real, imag)

    def _polar(self, length: Value, angle: Value) -> Complex:
        return Complex(*(self._real_op("mul", length, self._real_op(name, angle, shape=angle.shape))
                         for name in ("cos", "sin")))

    def _view_as_real(self, x: Complex) -> Value:
        return self._real_op("stack", list(x), -1)

    def _real(self, x: Complex) -> Value:
        return x.real

    def _imag(self, x: Complex) -> Value:
        return x.imag

    def _to_copy(self, x: typing.Any, *_: typing.Any) -> Complex:
        return self._parts(x)

    _type_as = _to_copy

    # ---- arithmetic

    def _add(self, x: typing.Any, y: typing.Any) -> Complex:
        return self._both("add", x, y)

    def _sub(self, x: typing.Any, y: typing.Any) -> Complex:
        return self._both("sub", x, y)

    def _both(self, name: str, x: typing.Any, y: typing.Any) -> Complex:
        return Complex(*(self._real_op(name, a, c) for a, c in
                         zip(self._parts(x), self._parts(y), strict=True)))

    def _mul(self, x: typing.Any, y: typing.Any) -> Complex:
        if not isinstance(x, (Complex, complex)):
            x, y = y, x
        x = self._parts(x)
        if not isinstance(y, (Complex, complex)):
            return Complex(*(self._real_op("mul", part, y) for part in x))
        y = self._parts(y)
        (rr, ii), (ri, ir) = (tuple(self._real_op("mul", a, c) for a, c in pairs) for pairs in (
            ((x.real, y.real), (x.imag, y.imag)), ((x.real, y.imag), (x.imag, y.real))))
        return Complex(self._real_op("sub", rr, ii), self._real_op("add", ri, ir))

    def _div(self, x: Complex, y: typing.Any) -> Complex:
        if isinstance(y, (Complex, complex)):
            raise UnsupportedModel("a quotient by a complex number; hk's import has those by real ones")
        return Complex(*(self._real_op("div", part, y) for part in x))

    def _neg(self, x: Complex) -> Complex:
        return Complex(*(self._real_op("neg", part) for part in x))

    def _conj(self, x: Complex) -> Complex:
        return Complex(x.real, self._real_op("neg", x.imag))

    _conj_physical = _conj

    def _abs(self, x: Complex) -> Value:
        squares = (self._real_op("mul", part, part) for part in x)
        return self._real_op("sqrt", self._real_op("add", *squares))

    # ---- Fourier transforms

    def _fft_c2c(self, x: Complex, dims: list, norm: int, forward: bool) -> Complex:
        return self._transformed(self._parts(x), dims, norm, forward)

    def _fft_r2c(self, x: Value, dims: list, norm: int, onesided: bool) -> Complex:
        made = self._transformed(Complex(self.b.cast(x, "f32"), None), dims, norm, True)
        if not onesided:
            return made
        last = dims[-1] % len(self.shape)
        return Complex(*(self.b.sliced(part, last, 0, self.shape[last]) for part in made))

    def _transformed(self, x: Complex, dims: list, norm: int, forward: bool) -> Complex:
        """Dim for dim; `norm` is PyTorch's: nothing, the root of the sizes, the sizes."""
        rank = len(x.real.shape)
        for dim in (d % rank for d in dims):
            size = x.real.shape[dim]
            if not isinstance(size, int):
                raise UnsupportedModel(f"a Fourier transform along dim {dim}, whose size a call "
                                       "tells; give it as a fixed size")
            cos, sin = self._waves(size, 1 / (1, math.sqrt(size), size)[norm], forward)
            real, turned = (self._along(dim, x.real, matrix) for matrix in (cos, sin))
            if x.imag is not None:
                more = [self._along(dim, x.imag, matrix) for matrix in (sin, cos)]
                shape = x.real.shape
                real = self._real_op("sub", real, more[0], shape=shape)
                turned = self._real_op("add", turned, more[1], shape=shape)
            x = Complex(real, turned)
        return x

    def _waves(self, size: int, scale: float, forward: bool) -> tuple[Value, Value]:
        places = torch.arange(size, dtype=torch.int64)
        angles = (places[:, None] * places % size).double() * (2 * math.pi / size)
        waves = torch.cos(angles), torch.sin(angles) * (-1 if forward else 1)
        return tuple(self.weight(f"hk.fourier.{name}.{size}.{scale}.{forward}", (scale * w).float())
                     for name, w in zip(("cos", "sin"), waves, strict=True))

    def _along(self, dim: int, x: Value, matrix: Value) -> Value:
        """The product of a dim with a symmetric matrix."""
        b, order = self.b, [d for d in range(len(x.shape)) if d != dim] + [dim]
        rows = b.permuted(b.full(x), order)
        made = b.value("matmul", rows.stored, "f32", x=rows.ssa, y=matrix.ssa, tx=rows.type,
                       ty=matrix.type, attributes="")
        return made._replace(shape=x.shape, dims=rows.dims)
