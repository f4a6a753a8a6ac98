"""Values with lazy layouts, and the operators on them.

A Value is a stored tensor and how a logical tensor of PyTorch lies in it: transposes,
unit dims and expansions are bookkeeping until an operator needs them done. So a transpose
and its inverse cancel, the batch of one never appears, and what broadcasts is not stored.
"""

import typing

from ..errors import UnsupportedModel
from ._mlir import Writer, number, tensor_type

LONGEST_CONSTANT = 64  # Of 32-bit elements, in hk.constant.
Size = typing.Any  # An int or a sympy expression over the symbols of sizes.


class Value(typing.NamedTuple):
    """`dims[d]` is the stored dim of logical dim d, or None where it has size one or repeats."""

    ssa: str
    stored: tuple[Size, ...]
    element: str
    shape: tuple[Size, ...]
    dims: tuple[int | None, ...]

    @property
    def type(self) -> str:
        return tensor_type(self.stored, self.element)

    @property
    def order(self) -> tuple[int, ...]:
        """Logical dims in the order in which they are stored."""
        return tuple(sorted((d for d, p in enumerate(self.dims) if p is not None),
                            key=lambda d: self.dims[d]))


class Codes(typing.NamedTuple):
    """What a weight is dequantised from, as stored; the words behind hk.dequantize's operands."""

    codes: Value
    parameters: tuple[Value, ...]
    words: str


class Builder:
    """Writes operators on Values; `sizes` gives the SSA index of a symbol of sizes, `weight` a row
    of equal numbers by name, number, element type and width, `counted` 0, 1, 2, ... of a size.
    `quantised`: the codes of weights, by the SSA name of their values."""

    def __init__(self, writer: Writer, sizes: typing.Callable[[Size], str],
                 weight: typing.Callable[[str, float, str, int], Value],
                 counted: typing.Callable[[Size, str], Value]):
        self.writer, self._size_of_symbol = writer, sizes
        self.weight, self.counted = weight, counted
        self.hint = "value"
        self._indices: dict[typing.Any, str] = {}
        self.quantised: dict[str, Codes] = {}
        # Of weights whose columns are in another order, by the SSA name of their values.
        self.ordered: dict[str, Value] = {}
        self._in_order: dict[tuple[str, str], Value] = {}
        self.parts: dict[str, tuple[int, list[Value]]] = {}  # What was concatenated, and where.
        self.orders: dict[tuple, typing.Any] = {}  # Of rows by expert (_routing.py).
        self.columns: dict[tuple, Value] = {}  # Of a tensor, by their place in a period.

    # ---- sizes

    def index(self, size: Size) -> str:
        """The SSA index of a size that is not a literal."""
        if size in self._indices:
            return self._indices[size]
        if isinstance(size, int):
            ssa = self.writer.emit("index", f"c{size}", value=size)
        elif size.is_Integer:
            return self.index(int(size))
        elif size.is_Symbol:
            ssa = self._size_of_symbol(size)
        elif size.is_Add or size.is_Mul:
            op = "addi" if size.is_Add else "muli"
            first, *rest = size.args
            ssa = self.index(first)
            for term in rest:
                ssa = self.writer.emit("index_binary", "size", op=op, x=ssa, y=self.index(term))
        elif type(size).__name__ in ("FloorDiv", "CleanDiv"):
            x, y = (self.index(part) for part in size.args)
            ssa = self.writer.emit("index_binary", "size", op="divui", x=x, y=y)
        else:
            raise UnsupportedModel(f"a size is {size}: hk's import computes sums, products and "
                                   "quotients of sizes only")
        self._indices[size] = ssa
        return ssa

    def sizes(self, sizes: typing.Iterable[Size]) -> str:
        """Sizes as operands of a view."""
        return ", ".join(str(s) if isinstance(s, int) else self.index(s) for s in sizes)

    # ---- making values

    def value(self, form: str, stored: tuple, element: str, **fields: object) -> Value:
        """Emits an operator whose result is stored as it is."""
        stored = tuple(stored)
        ssa = self.writer.emit(form, self.hint, tr=tensor_type(stored, element), **fields)
        return Value(ssa, stored, element, stored, tuple(range(len(stored))))

    def constant(self, number_: float | int | bool, element: str, shape: tuple = ()) -> Value:
        """A scalar, or equal numbers of a shape."""
        return self.value("constant", shape, element, value=number(number_, element))

    def row(self, number_: float, element: str, width: int) -> Value:
        """Equal numbers; what is too long for the text of a model is a weight."""
        if width <= LONGEST_CONSTANT:
            return self.constant(number_, element, (width,))
        return self.weight(f"hk.row.{width}.{number_}.{element}", number_, element, width)

    def dequantised(self, codes: Codes, element: str) -> Value:
        """The values of codes."""
        made = self.value("dequantize", codes.codes.stored, element, x=codes.codes.ssa,
                          tx=codes.codes.type, attributes=f" {codes.words}",
                          operands=", ".join(p.ssa for p in codes.parameters),
                          toperands=", ".join(p.type for p in codes.parameters))
        self.quantised[made.ssa] = codes
        return made

    def in_order(self, x: Value, weight: Value) -> Value:
        """The rows x with their columns in the order of the weight's; once for all that ask."""
        order = self.ordered[weight.ssa]
        key = (x.ssa, order.ssa)
        if key not in self._in_order:
            rows = self.reshaped(self.full(x), (product(x.shape[:-1]), x.shape[-1]))
            place = self.value("iota_like", rows.stored[:1], "i32", x=rows.ssa, tx=rows.type, dim=0)
            place = self.reshaped(place, (rows.stored[0], 1))
            made = self.value("gather_elements", rows.stored, x.element, x=rows.ssa, tx=rows.type,
                              places=f"{place.ssa}, {order.ssa}",
                              tplaces=f"{place.type}, {order.type}")
            self._in_order[key] = self.viewed(made, x.shape)
        return self._in_order[key]

    # ---- layouts

    def permuted(self, v: Value, order: typing.Sequence[int]) -> Value:
        """Stored in this order of its logical dims; stored ones that it leaves out go first."""
        order = tuple(d for d in order if v.dims[d] is not None)
        order = tuple(d for d in v.order if d not in order) + order
        if order == v.order:
            return v
        permutation = [v.dims[d] for d in order]
        stored = tuple(v.stored[p] for p in permutation)
        moved = [p for p in permutation if v.stored[p] != 1]
        if moved == sorted(moved):  # Unit dims change places: a view.
            made = self.reshaped(v, stored)
        else:
            made = self.value("transpose", stored, v.element, x=v.ssa, tx=v.type,
                              permutation=", ".join(map(str, permutation)))
        dims = tuple(order.index(d) if d in order else None for d in range(len(v.dims)))
        return made._replace(shape=v.shape, dims=dims)

    def reshaped(self, v: Value, stored: tuple) -> Value:
        """Other stored sizes for the same elements, by views."""
        stored = tuple(stored)
        if v.stored == stored:
            return v._replace(shape=stored, dims=tuple(range(len(stored))))
        groups = group_dims(v.stored, stored)
        if groups is None:
            raise UnsupportedModel(f"cannot prove that {list(v.stored)} and {list(stored)} have "
                                   "equally many elements")
        middle = tuple(product(v.stored[i] for i in a) for a, _ in groups)
        if any(len(a) != 1 for a, _ in groups) or (v.stored and not groups):
            v = self.value("collapse", middle, v.element, x=v.ssa, tx=v.type,
                           groups=[list(a) for a, _ in groups])
        if middle != stored:
            v = self.value("expand", stored, v.element, x=v.ssa, sizes=self.sizes(stored),
                           tx=tensor_type(middle, v.element), groups=[list(b) for _, b in groups])
        return v._replace(shape=stored, dims=tuple(range(len(stored))))

    def dense(self, v: Value) -> Value:
        """Stored in logical order, without unit dims."""
        return self._tight(self.permuted(self.unrepeated(v), range(len(v.dims))))

    def _tight(self, v: Value) -> Value:
        """Without stored dims that are no logical dim's: those of a reduction, of one element."""
        kept = sorted(p for p in v.dims if p is not None)
        if len(kept) == len(v.stored):
            return v
        made = self.reshaped(v, tuple(v.stored[p] for p in kept))
        return made._replace(shape=v.shape, dims=tuple(
            None if p is None else kept.index(p) for p in v.dims))

    def unrepeated(self, v: Value) -> Value:
        """What repeats is repeated in memory."""
        for d, (size, p) in enumerate(zip(v.shape, v.dims, strict=True)):
            if p is None and size != 1:
                v = self._repeated(v, d) if isinstance(size, int) else self._often(v, d)
        return v

    def _often(self, v: Value, d: int) -> Value:
        """A dim that repeats as often as a call says, stored: what is chosen at each of its
        places."""
        if v.element == "i1":
            bits = self._often(self.cast(v, "i8"), d)
            return self.elementwise("compare", [bits, self.constant(0, "i8")], v.shape, "i1",
                                    predicate="ne")
        places = self.counted(v.shape[d], "i32")
        every = self.elementwise("compare", [places, self.constant(0, "i32")], places.shape, "i1",
                                 predicate="ge")
        behind = len(v.shape) - d - 1
        every = every._replace(shape=(*every.shape, *[1] * behind), dims=(0, *[None] * behind))
        return self.elementwise("select", [every, v, v], v.shape, v.element, names="cxy")

    def _repeated(self, v: Value, d: int) -> Value:
        """A repeated dim stored, by joining the tensor to itself."""
        thin = self.reshaped(v, (*v.stored, 1))
        stored = (*v.stored, v.shape[d])
        if v.shape[d] == 0:  # Nothing of it.
            made = self.value("slice", stored, v.element, x=thin.ssa, tx=thin.type,
                              offsets=self.sizes([0] * len(stored)), sizes=self.sizes(stored),
                              strides=", ".join(["1"] * len(stored)))
            return made._replace(shape=v.shape, dims=v.dims[:d] + (len(v.stored),) + v.dims[d + 1:])
        made = self.value("concat", stored, v.element, dim=len(v.stored),
                          inputs=", ".join([thin.ssa] * v.shape[d]),
                          tinputs=", ".join([thin.type] * v.shape[d]))
        return made._replace(shape=v.shape, dims=v.dims[:d] + (len(v.stored),) + v.dims[d + 1:])

    def full(self, v: Value) -> Value:
        """Stored as the logical shape, unit dims included."""
        return self.reshaped(self.dense(v), v.shape)

    def viewed(self, v: Value, shape: tuple) -> Value:
        """torch's view or reshape."""
        shape = tuple(shape)
        if shape == v.shape:
            return v
        v = self.dense(v)
        kept = tuple(s for s in shape if s != 1)
        v = self.reshaped(v, kept)
        dims, at = [], 0
        for size in shape:
            dims.append(None if size == 1 else at)
            at += size != 1
        return v._replace(shape=shape, dims=tuple(dims))

    # ---- elementwise

    def aligned(self, values: typing.Sequence[Value], rank: int) -> tuple[list, tuple, tuple]:
        """Operands for NumPy's broadcasting; also the result's stored sizes and dims."""
        values = [v._replace(shape=(1,) * (rank - len(v.shape)) + v.shape,
                             dims=(None,) * (rank - len(v.dims)) + v.dims) for v in values]
        covered = [{d for d, p in enumerate(v.dims) if p is not None and v.stored[p] != 1}
                   for v in values]
        union = set().union(*covered)
        base = max(values, key=lambda v: len(v.order))
        order = tuple(d for d in base.order if d in union)
        if union - set(order):
            order = tuple(sorted(union))
        sizes = tuple(next(v.stored[v.dims[d]] for v, c in zip(values, covered, strict=True)
                           if d in c) for d in order)
        operands = [self._operand(v, order) for v in values]
        dims = tuple(order.index(d) if d in order else None for d in range(rank))
        return operands, sizes, dims

    def _operand(self, v: Value, order: tuple[int, ...]) -> Value:
        """`v` so that NumPy's rules put its dims where `order` has them."""
        v = self.permuted(v, order)  # What is not in the order are units in front.
        stored = [v.stored[v.dims[d]] if v.dims[d] is not None else 1 for d in order]
        while stored and stored[0] == 1 and len(stored) > 0:
            stored.pop(0)
        return v if tuple(stored) == v.stored else self.reshaped(v, tuple(stored))

    def elementwise(self, form: str, values: typing.Sequence[Value], shape: tuple, element: str,
                    names: str = "xyz", **fields: object) -> Value:
        """An operator of operands that broadcast together; the result's logical shape."""
        operands, sizes, dims = self.aligned(values, len(shape))
        for name, operand in zip(names, operands, strict=False):
            fields |= {name: operand.ssa, f"t{name}": operand.type}
        made = self.value(form, sizes, element, **fields)
        return made._replace(shape=tuple(shape), dims=dims)

    def unary(self, op: str, v: Value, element: str | None = None) -> Value:
        """An elementwise operator of one operand, in the layout that it has."""
        made = self.value("unary", v.stored, element or v.element, op=op, x=v.ssa, tx=v.type)
        return made._replace(shape=v.shape, dims=v.dims)

    def cast(self, v: Value, element: str) -> Value:
        """Another element type."""
        return v if v.element == element else self.unary("cast", v, element)

    # ---- rows

    def last_stored_last(self, v: Value) -> Value:
        """Stored so that the last logical dim is the last stored one."""
        last = len(v.dims) - 1
        if v.dims[last] is None:
            v = self.full(v)
        return self._tight(self.permuted(v, [d for d in v.order if d != last] + [last]))

    def sliced(self, v: Value, dim: int, start: Size, length: Size, step: int = 1) -> Value:
        """A slice of one dim."""
        p = v.dims[dim]
        shape = v.shape[:dim] + (length,) + v.shape[dim + 1:]
        if length == v.shape[dim] or p is None:
            return v._replace(shape=shape)
        start = start if length != 0 else 0  # What is empty lies anywhere.
        if (part := self._part(v, p, start, length)) and step == 1:
            return part._replace(shape=shape, dims=v.dims)
        if step != 1 and p == len(v.stored) - 1 and v.stored[p] == length * step:
            return self._every(v, start, step)._replace(shape=shape, dims=v.dims)
        stored = v.stored[:p] + (length,) + v.stored[p + 1:]
        offsets = [0] * len(stored)
        offsets[p] = start
        strides = ["1"] * len(stored)
        strides[p] = str(step)
        made = self.value("slice", stored, v.element, x=v.ssa, tx=v.type,
                          offsets=self.sizes(offsets), sizes=self.sizes(stored),
                          strides=", ".join(strides))
        return made._replace(shape=shape, dims=v.dims)

    def _every(self, v: Value, start: int, step: int) -> Value:
        """Every `step`th column: kernels read runs of columns, so those that lie apart are brought
        together first, once for all that ask."""
        key = (v.ssa, step)
        if key not in self.columns:
            rows = self.reshaped(v, (*v.stored[:-1], v.stored[-1] // step, step))
            rank = len(rows.stored)
            self.columns[key] = self.permuted(rows, [rank - 1, *range(rank - 1)])
        apart = self.columns[key]
        apart = apart._replace(shape=apart.stored, dims=tuple(range(len(apart.stored))))
        return self.squeezed(self.sliced(apart, 0, start, 1), 0)

    def _part(self, v: Value, p: int, start: Size, length: Size) -> Value | None:
        """The operand of a concatenation that a slice of it is."""
        dim, values = self.parts.get(v.ssa, (None, []))
        at: Size = 0
        for value in values if dim == p else ():
            if (at, value.stored[p]) == (start, length):
                return value
            at = at + value.stored[p]
        return None

    def squeezed(self, v: Value, dim: int) -> Value:
        """Without a logical dim of size one."""
        p = v.dims[dim]
        if p is not None:
            kept = tuple(s for i, s in enumerate(v.stored) if i != p)
            made = self.reshaped(v, kept)
            dims = tuple(None if q is None else q - (q > p) for q in v.dims)
            v = made._replace(shape=v.shape, dims=dims[:dim] + (None,) + dims[dim + 1:])
        return v._replace(shape=v.shape[:dim] + v.shape[dim + 1:],
                          dims=v.dims[:dim] + v.dims[dim + 1:])


def product(sizes: typing.Iterable[Size]) -> Size:
    """The product of sizes; an int where all are."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return int(result) if getattr(result, "is_Integer", False) else result


def group_dims(a: tuple, b: tuple) -> list[tuple[list[int], list[int]]] | None:
    """Cuts two shapes of one size into the smallest groups of dims of equal products; None
    where that cannot be proven. Of shapes without elements' dims the result is empty."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        left, right, x, y = [i], [j], a[i], b[j]
        i, j = i + 1, j + 1
        while x != y:
            if _is_smaller(x, y) and i < len(a):
                left.append(i)
                x, i = x * a[i], i + 1
            elif j < len(b):
                right.append(j)
                y, j = y * b[j], j + 1
            else:
                return None
        groups.append((left, right))
    if any(s != 1 for s in (*a[i:], *b[j:])):
        return None
    if groups:
        groups[-1][0].extend(range(i, len(a)))
        groups[-1][1].extend(range(j, len(b)))
    return groups


def _is_smaller(x: Size, y: Size) -> bool:
    """Whether x is a proper part of y, as far as that can be seen. Symbols are at least 1."""
    if isinstance(x, int) and isinstance(y, int):
        return x < y
    above, below = (x / y).as_numer_denom()
    if above.is_number and below.is_number:
        return bool(above < below)
    return bool(above.is_number)
