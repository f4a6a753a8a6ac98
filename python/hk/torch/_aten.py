"""PyTorch's operators as hk's: one function, or one row of a table, each."""

import typing

from .._dtypes import torch_name
from ..errors import UnsupportedModel
from ._builder import LONGEST_CONSTANT, Builder, Size, Value, product
from ._mlir import ELEMENT_TYPES

UNARY = {"exp": "exp", "exp2": "exp2", "expm1": "expm1", "log1p": "log1p",
         "tanh": "tanh", "sigmoid": "sigmoid",
         "silu": "silu", "cos": "cos", "sin": "sin", "sqrt": "sqrt",
         "rsqrt": "rsqrt", "log": "log", "log2": "log2", "erf": "erf",
         "reciprocal": "reciprocal"}
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "maximum": "max", "minimum": "min"}
ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
POWERS = "-1, -0.5, 0.5, 1, 2, 3 and 4"
COMPARE = {"eq", "ne", "lt", "le", "gt", "ge"}
IDENTITY = {"alias", "clone", "contiguous", "detach", "dropout", "lift_fresh_copy",
            "lift_fresh", "expand_copy", "_assert_tensor_metadata"}

Handler = typing.Callable[..., typing.Any]
HANDLERS: dict[str, Handler] = {}


class Result(typing.NamedTuple):
    """What PyTorch says about a result."""

    shape: tuple[Size, ...]
    element: str


def handles(*names: str) -> typing.Callable[[Handler], Handler]:
    """Registers a function (builder, result, *args, **kwargs) -> Value for operators."""
    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, function))
        return function
    return register


def operand(b: Builder, value: typing.Any, element: str) -> Value:
    """A Value; of a Python number a constant."""
    return value if isinstance(value, Value) else b.constant(value, element)


def element_of(dtype: object) -> str:
    """MLIR's name of a torch dtype."""
    name = torch_name(dtype)
    if name not in ELEMENT_TYPES:
        raise UnsupportedModel(f"hk's import has no element type {dtype}; it has "
                               f"{', '.join(ELEMENT_TYPES)}: convert the tensor before")
    return ELEMENT_TYPES[name][0]


def _dim(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


def is_known(name: str) -> bool:
    """Whether an operator, by aten's name without overload, is lowered as it is."""
    return any(name in table for table in (HANDLERS, IDENTITY, UNARY, BINARY, COMPARE))


def lower(b: Builder, name: str, result: Result, args: tuple, kwargs: dict) -> typing.Any:
    """Emits an operator; `name` is aten's without overload."""
    if name in HANDLERS:
        return HANDLERS[name](b, result, *args, **kwargs)
    if name in IDENTITY:
        return args[0]
    if name in UNARY:
        return b.unary(UNARY[name], b.cast(args[0], result.element))
    if name in BINARY:
        return _binary(b, result, BINARY[name], *args, **kwargs)
    if name in COMPARE:
        return _compare(b, result, name, *args)
    raise UnsupportedModel("hk has no operator for it; take it out of the model, or write it with "
                           "supported ones (docs/models.md)")


def _compare(b: Builder, result: Result, predicate: str, x: Value, y: typing.Any) -> Value:
    """In the type that holds both: integers beside a real number are compared as f32."""
    # Truth values have no order.
    x, y = (b.cast(v, "i8") if isinstance(v, Value) and v.element == "i1" else v for v in (x, y))
    if isinstance(y, float) and x.element[0] == "i":
        x = b.cast(x, "f32")
    y = operand(b, y, x.element)
    if x.element != y.element and "i" in (x.element[0], y.element[0]):
        element = next((v.element for v in (x, y) if v.element[0] != "i"), "i64")
        x, y = b.cast(x, element), b.cast(y, element)
    return b.elementwise("compare", [x, y], result.shape, "i1", predicate=predicate)


def _binary(b: Builder, result: Result, op: str, x: typing.Any, y: typing.Any, *,
            alpha: float = 1) -> Value:
    if result.element == "i1" and isinstance(x, Value) and isinstance(y, Value):
        return HANDLERS["logical_and" if op in ("mul", "min") else "logical_or"](b, result, x, y)
    if (op == "add" and type(y) is int and y == 0 and x.element == result.element
            and x.element[0] == "i"):
        return x
    real = result.element.startswith("f") or result.element == "bf16"
    # PyTorch computes in f32 with numbers that no 16 bits have rounded.
    x, y = (operand(b, v, "f32" if real else result.element) for v in (x, y))
    if alpha != 1:
        y = b.elementwise("binary", [y, b.constant(alpha, y.element)], y.shape, y.element,
                          names="xy", op="mul")
    if not real:
        x, y = b.cast(x, result.element), b.cast(y, result.element)
    x, y = (b.cast(v, result.element) if v.element[0] == "i" else v for v in (x, y))
    return b.elementwise("binary", [x, y], result.shape, result.element, op=op)


@handles("neg")
def _neg(b: Builder, result: Result, x: Value) -> Value:
    """hk.neg and hk.abs are of real numbers."""
    return _binary(b, result, "sub", 0, x) if x.element[0] == "i" else b.unary("neg", x)


@handles("abs")
def _abs(b: Builder, result: Result, x: Value) -> Value:
    if x.element[0] != "i":
        return b.unary("abs", x)
    return _binary(b, result, "max", x, _neg(b, result, x))


@handles("round")
def _round(b: Builder, result: Result, x: Value, *, decimals: int = 0) -> Value:
    """Of decimals as PyTorch has it: the power of ten, to nearest even, and back."""
    if decimals == 0 or result.element[0] == "i":
        return b.unary("round", x) if result.element[0] != "i" else x
    power = b.constant(10.0 ** abs(decimals), "f32")
    ops = ("div", "mul") if decimals < 0 else ("mul", "div")
    x = b.elementwise("binary", [x, power], result.shape, "f32", names="xy", op=ops[0])
    return b.elementwise("binary", [b.unary("round", x), power], result.shape, result.element,
                         names="xy", op=ops[1])


@handles("pow")
def _pow(b: Builder, result: Result, x: typing.Any, exponent: typing.Any) -> Value:
    if x == 2 and isinstance(exponent, Value) and exponent.element[0] != "i":
        return b.unary("exp2", exponent, result.element)
    if isinstance(exponent, Value):
        raise UnsupportedModel("pow with a tensor as exponent: hk has 2 to a tensor of real numbers, "
                               f"and the exponents {POWERS}")
    x = b.cast(x, result.element) if x.element[0] == "i" else x
    if exponent in ROOTS and result.element[0] != "i":
        return b.unary(ROOTS[exponent], x)
    if exponent not in (1, 2, 3, 4):
        raise UnsupportedModel(f"pow with exponent {exponent}: hk has {POWERS}")
    y = x
    for _ in range(int(exponent) - 1):
        y = b.elementwise("binary", [y, x], result.shape, result.element, op="mul")
    return y


@handles("square")
def _square(b: Builder, result: Result, x: Value) -> Value:
    return _pow(b, result, x, 2)


@handles("rsub")
def _rsub(b: Builder, result: Result, x: Value, y: typing.Any, alpha: float = 1) -> Value:
    return _binary(b, result, "sub", y, x, alpha=alpha)


@handles("gelu")
def _gelu(b: Builder, _: Result, x: Value, *, approximate: str = "none") -> Value:
    return b.unary({"none": "gelu", "tanh": "gelu_tanh"}[approximate], x)


@handles("softplus")
def _softplus(b: Builder, result: Result, x: Value, beta: float = 1, threshold: float = 20
              ) -> Value:
    if beta != 1 or threshold != 20:
        raise UnsupportedModel(f"softplus with beta {beta} and threshold {threshold}; hk's are "
                               "1 and 20")
    return b.unary("softplus", x, result.element)


@handles("clamp", "clamp_min", "clamp_max")
def _clamp(b: Builder, result: Result, x: Value, low: typing.Any = None,
           high: typing.Any = None, *, min: typing.Any = None,  # noqa: A002
           max: typing.Any = None) -> Value:  # noqa: A002
    if x.element[0] == "i":
        x = b.cast(x, result.element)
    for op, limit in (("max", low if low is not None else min),
                      ("min", high if high is not None else max)):
        if limit is not None:
            limit = operand(b, limit, x.element)
            limit = b.cast(limit, x.element) if x.element[0] == "i" else limit
            x = b.elementwise("binary", [x, limit], result.shape,
                              result.element, op=op)
    return x


@handles("clamp_max")
def _clamp_max(b: Builder, result: Result, x: Value, limit: typing.Any) -> Value:
    return _clamp(b, result, x, None, limit)


def _extreme(kind: str) -> Handler:
    """The larger or smaller of two tensors; torch has reductions under the same name."""
    def handler(b: Builder, result: Result, x: Value, y: typing.Any = None, *_: object) -> Value:
        if not isinstance(y, Value):
            raise UnsupportedModel(f"{kind} with its place, or of a whole tensor; hk's import has "
                                   f"amax, topk and the {kind} of two tensors")
        return _binary(b, result, kind, x, y)
    return handler


HANDLERS.update({kind: _extreme(kind) for kind in ("max", "min")})


@handles("where")
def _where(b: Builder, result: Result, c: Value, x: typing.Any, y: typing.Any) -> Value:
    x, y = (b.cast(operand(b, v, result.element), result.element) for v in (x, y))
    if result.element == "i1":  # hk.select has none of them.
        bits = _where(b, Result(result.shape, "i8"), c, b.cast(x, "i8"), b.cast(y, "i8"))
        return b.elementwise("compare", [bits, b.constant(0, "i8")], result.shape, "i1",
                             predicate="ne")
    return b.elementwise("select", [c, x, y], result.shape, result.element, names="cxy")


@handles("masked_fill")
def _masked_fill(b: Builder, result: Result, x: Value, mask: Value, value: typing.Any) -> Value:
    return _where(b, result, mask, value, x)


# ---- products

@handles("linear")
def _linear(b: Builder, result: Result, x: Value, w: Value, bias: Value | None = None) -> Value:
    if w.ssa in b.ordered:
        x = b.in_order(x, w)
    made = _product(b, x, b.full(w), result, " transpose_b")
    return made if bias is None else _binary(b, result, "add", made, bias)


@handles("addmm")
def _addmm(b: Builder, result: Result, bias: Value, x: Value, w: Value, *, beta: float = 1,
           alpha: float = 1) -> Value:
    if beta != 1 or alpha != 1:
        raise UnsupportedModel(f"addmm with beta={beta}, alpha={alpha}: hk has 1 and 1")
    return _binary(b, result, "add", _matmul(b, result, x, w), bias)


@handles("matmul", "mm", "bmm")
def _matmul(b: Builder, result: Result, x: Value, y: Value) -> Value:
    # A weight that is stored transposed is read as it lies.
    if len(y.shape) == 2 and y.dims == (1, 0):
        return _product(b, x, y, result, " transpose_b")
    if len(x.shape) == 2 and len(y.shape) == 3:  # A weight in front: (y^T x^T)^T.
        turned = Result((y.shape[0], y.shape[2], x.shape[0]), result.element)
        made = _linear(b, turned, _transpose(b, turned, y, 1, 2)._replace(
            shape=(y.shape[0], y.shape[2], y.shape[1])), x)
        return _transpose(b, result, made, 1, 2)
    if len(y.shape) == 1 or len(x.shape) == 1 and len(y.shape) != 2:
        raise UnsupportedModel(f"a product of shapes {list(x.shape)} and {list(y.shape)}: hk "
                               "multiplies matrices")
    if all(n == 1 for n in y.shape[:-2]):  # One matrix for all of a batch.
        return _product(b, x, b.full(b.viewed(y, y.shape[-2:])), result, "")
    x, y = (_batched(b, v, result.shape[:-2]) for v in (x, y))
    return _product(b, x, b.full(y), result, "")


def _batched(b: Builder, v: Value, batch: tuple[Size, ...]) -> Value:
    """The matrices of a batch, repeated where one is for several."""
    shape = (*batch, *v.shape[-2:])
    return v if v.shape == shape else _expand(b, Result(shape, v.element), v)


def _product(b: Builder, x: Value, y: Value, result: Result, attributes: str) -> Value:
    """x [.., M, K] times a stored y."""
    x = b.full(x) if len(y.stored) > 2 else b.dense(x)
    if len(x.stored) < 2 or (x.dims[-1] is None):
        x = b.reshaped(x, (product(x.shape[:-1]), x.shape[-1]))
    width = y.stored[-2] if attributes else y.stored[-1]
    made = b.value("matmul", (*x.stored[:-1], width), result.element, x=x.ssa, y=y.ssa, tx=x.type,
                   ty=y.type, attributes=attributes)
    return b.viewed(made, result.shape)


# ---- rows

@handles("hk.rms_norm")
def _rms_norm(b: Builder, result: Result, x: Value, w: Value | None, epsilon: float,
              offset: float, round_before_weight: bool) -> Value:
    x = b.last_stored_last(x)
    attributes = [f"weight_offset {offset}"] * bool(offset)
    attributes += ["round_before_weight"] * round_before_weight
    text = f" {' '.join(attributes)}" if attributes and w is not None else ""
    w = w or _row_of(b, x, 1.0)
    made = b.value("rms_norm", x.stored, result.element, x=x.ssa, tx=x.type, w=w.ssa, tw=w.type,
                   epsilon=f"{epsilon:.9e}", attributes=text)
    return made._replace(shape=result.shape, dims=x.dims)


@handles("rms_norm")
def _aten_rms_norm(b: Builder, result: Result, x: Value, shape: list, w: Value | None = None,
                   epsilon: float | None = None) -> Value:
    if len(shape) != 1:
        raise UnsupportedModel(f"rms_norm over the dims {shape}: hk has the last one")
    return _rms_norm(b, result, x, w, 1.1920929e-07 if epsilon is None else epsilon, 0.0, False)


@handles("layer_norm")
def _layer_norm(b: Builder, result: Result, x: Value, shape: list, w: Value | None = None,
                bias: Value | None = None, epsilon: float = 1e-5, *_: object) -> Value:
    if len(shape) != 1:
        x, w, bias = (v and b.viewed(v, (*v.shape[:-len(shape)], product(shape)))
                      for v in (x, w, bias))
    if not isinstance(x.shape[-1], int):
        return b.viewed(_norm_of_any_width(b, x, w, bias, epsilon, result.element), result.shape)
    w, bias = w or _row_of(b, x, 1.0), bias or _row_of(b, x, 0.0)
    x = b.last_stored_last(x)
    made = b.value("layer_norm", x.stored, result.element, x=x.ssa, tx=x.type, w=w.ssa, tw=w.type,
                   b=bias.ssa, tb=bias.type, epsilon=f"{epsilon:.9e}")
    return b.viewed(made._replace(shape=x.shape, dims=x.dims), result.shape)


def _norm_of_any_width(b: Builder, x: Value, w: Value | None, bias: Value | None, epsilon: float,
                       element: str) -> Value:
    """A layer norm whose width a call tells, which no weight has: by its formula, in f32."""
    wide, one = Result(x.shape, "f32"), Result((*x.shape[:-1], 1), "f32")
    apart = _binary(b, wide, "sub", b.cast(x, "f32"), _mean(b, one, x, [-1], True))
    squares = _binary(b, wide, "mul", apart, apart)
    variance = _binary(b, one, "add", _mean(b, one, squares, [-1], True), epsilon)
    made = _binary(b, wide, "mul", apart, b.unary("rsqrt", variance))
    for op, row in (("mul", w), ("add", bias)):
        made = made if row is None else _binary(b, wide, op, made, b.cast(row, "f32"))
    return b.cast(made, element)


def _row_of(b: Builder, x: Value, number_: float) -> Value:
    """What a norm without weight or bias has in their place."""
    return b.row(number_, x.element, x.shape[-1])


@handles("softmax", "_softmax")
def _softmax(b: Builder, result: Result, x: Value, dim: int, *_: object) -> Value:
    dim = _dim(dim, len(x.shape))
    if dim == len(x.shape) - 1:
        return b.unary("softmax", b.last_stored_last(x), result.element)
    if not isinstance(x.shape[dim], int):
        raise UnsupportedModel(f"softmax over dim {dim}, whose size a call tells; hk has the last "
                               "one and those of known sizes")
    x = x if x.dims[dim] is not None else b.full(x)
    return b.unary("softmax", b.permuted(x, [*(d for d in x.order if d != dim), dim]),
                   result.element)


def _reduced(b: Builder, result: Result, kind: str, x: Value, dims: typing.Any, keep: bool
             ) -> Value:
    """Reduced dims are stored last, as one."""
    rank = len(x.shape)
    dims = [dims] if isinstance(dims, int) else list(range(rank) if not dims else dims)
    dims = sorted(_dim(d, rank) for d in dims)
    if dims == [rank - 1]:
        x = b.last_stored_last(x)
    else:
        kept = [d for d in range(rank) if d not in dims]
        x = b.permuted(b.full(x), [*kept, *dims])
        sizes = [x.shape[d] for d in kept]
        x = b.reshaped(x, (*sizes, product(x.shape[d] for d in dims)))._replace(
            shape=x.shape, dims=tuple(kept.index(d) if d in kept else None for d in range(rank)))
    made = b.value("reduce", x.stored[:-1] + (1,), result.element, kind=kind, x=x.ssa, tx=x.type)
    shape = tuple(1 if d in dims else size for d, size in enumerate(x.shape))
    made = made._replace(shape=shape, dims=x.dims)
    for d in reversed(() if keep else dims):
        made = b.squeezed(made, d)
    return made


@handles("mean")
def _mean(b: Builder, result: Result, x: Value, dims: typing.Any = None, keepdim: bool = False,
          **_: object) -> Value:
    wide = Result(result.shape, "f32")
    total = _reduced(b, wide, "sum", x, dims, keepdim)
    every = [dims] if isinstance(dims, int) else dims or range(len(x.shape))
    count = product(x.shape[d] for d in every)
    if isinstance(count, int):
        return _binary(b, result, "mul", total, 1.0 / count)
    for size in (x.shape[d] for d in every):
        total = _binary(b, wide, "div", total, _number_of(b, size))
    return b.cast(total, result.element)


def _number_of(b: Builder, size: Size) -> Value | int:
    """A size as a number of f32, exact below 2^24: one more than the last place."""
    if isinstance(size, int):
        return size
    last = _reduced(b, Result((), "f32"), "max", b.counted(size, "f32"), [0], False)
    return _binary(b, Result((), "f32"), "add", last, 1)


@handles("cumsum")
def _cumsum(b: Builder, result: Result, x: Value, dim: int, **_: object) -> Value:
    x = b.full(x)
    if result.element[0] != "i":  # PyTorch converts before it sums.
        x = b.cast(x, result.element)
    text = f" dim {_dim(dim, len(x.shape))}"
    return b.value("cumsum", x.stored, result.element, kind="inclusive", x=x.ssa, tx=x.type,
                   attributes=text)


@handles("embedding")
def _embedding(b: Builder, result: Result, table: Value, ids: Value, *_: object,
               **__: object) -> Value:
    """A repeated id is looked up once; of quantised rows only those are dequantised."""
    table, order = b.full(table), ids.order
    ids = b.permuted(ids, order)

    def rows(of: Value) -> Value:
        return b.value("gather_rows", (*ids.stored, *of.stored[1:]), of.element,
                       table=of.ssa, ttable=of.type, ids=ids.ssa, tids=ids.type)

    codes = b.quantised.get(table.ssa)
    if codes is None:
        made = rows(table)
    else:
        made = b.dequantised(codes._replace(
            codes=rows(codes.codes), parameters=tuple(
                p if len(p.stored) < 2 else rows(p) for p in codes.parameters)), result.element)
    behind = range(len(ids.stored), len(ids.stored) + len(table.stored) - 1)
    return made._replace(shape=result.shape, dims=(*ids.dims, *behind))


@handles("index")
def _index(b: Builder, result: Result, x: Value, indices: list) -> Value:
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if any(i.element == "i1" for _, i in given):
        raise UnsupportedModel("rows chosen by truth values: how many depends on data; hk takes "
                               "sizes from the shapes of inputs")
    if len(given) != 1:
        return _elements(b, result, x, [d for d, _ in given], [i for _, i in given])
    dim, rows = given[0]
    return _gathered(b, result, x, dim, rows)


def _elements(b: Builder, result: Result, x: Value, dims: list[int], places: list[Value]) -> Value:
    """Elements by an index of each of the first dims; of the others all."""
    rest = x.shape[len(dims):]
    if dims != list(range(len(dims))) or any(
            not isinstance(s, int) or s > LONGEST_CONSTANT for s in rest):
        raise UnsupportedModel(f"indexing dims {dims} of {list(x.shape)} by a tensor each; hk's "
                               "import takes the first dims, where the others have at most "
                               f"{LONGEST_CONSTANT} elements")
    x = b.full(x)
    # NumPy's rules put the places of the other dims behind.
    places = [p._replace(shape=(*p.shape, *[1] * len(rest)), dims=(*p.dims, *[None] * len(rest)))
              for p in places]
    for d, size in enumerate(rest):
        row = b.value("constant", (size,), "i32", value=list(range(size)))
        behind = len(rest) - d - 1
        places.append(row._replace(shape=(size, *[1] * behind), dims=(0, *[None] * behind)))
    operands, sizes, order = b.aligned([b.cast(p, "i32") for p in places], len(result.shape))
    made = b.value("gather_elements", sizes, result.element, x=x.ssa, tx=x.type,
                   places=", ".join(p.ssa for p in operands),
                   tplaces=", ".join(p.type for p in operands))
    return made._replace(shape=result.shape, dims=order)


@handles("index_select")
def _index_select(b: Builder, result: Result, x: Value, dim: int, rows: Value) -> Value:
    return _gathered(b, result, x, _dim(dim, len(x.shape)), rows)


def _gathered(b: Builder, result: Result, x: Value, dim: int, rows: Value) -> Value:
    """Parts of `dim` of x, which comes to the front, and back as the dims of `rows`."""
    x = b.unrepeated(x)
    if x.dims[dim] is None:
        return x._replace(shape=result.shape, dims=(
            *x.dims[:dim], *[None] * len(rows.shape), *x.dims[dim + 1:]))
    x = b.permuted(x, [dim, *(d for d in x.order if d != dim)])
    if x.dims[dim]:  # Units in front.
        x = b.reshaped(x, x.stored[x.dims[dim]:])._replace(shape=x.shape, dims=tuple(
            None if p is None or p < x.dims[dim] else p - x.dims[dim] for p in x.dims))
    rows = b.permuted(rows, rows.order)
    made = b.value("gather_rows", (*rows.stored, *x.stored[1:]), result.element, table=x.ssa,
                   ttable=x.type, ids=rows.ssa, tids=rows.type)
    behind = tuple(p if p is None else p - 1 + len(rows.stored) for p in x.dims)
    return made._replace(shape=result.shape,
                         dims=(*behind[:dim], *rows.dims, *behind[dim + 1:]))


@handles("gather")
def _gather(b: Builder, result: Result, x: Value, dim: int, ids: Value) -> Value:
    dim = _dim(dim, len(x.shape))
    for d, (size, taken) in enumerate(zip(x.shape, ids.shape, strict=True)):
        if d != dim and size != taken:
            x = b.sliced(x, d, 0, taken)
    if not set(ids.order) - {dim} and ids.order:  # The same places everywhere.
        return _gathered(b, result, x, dim, ids._replace(
            shape=ids.stored, dims=(0,)))
    if dim != len(x.shape) - 1:
        order = [*(d for d in range(len(x.shape)) if d != dim), dim]
        x, ids = (v._replace(shape=tuple(v.shape[d] for d in order),
                             dims=tuple(v.dims[d] for d in order)) for v in (x, ids))
        made = _gather(b, Result(ids.shape, result.element), x, len(order) - 1, ids)
        back = [order.index(d) for d in range(len(order))]
        return made._replace(shape=result.shape, dims=tuple(made.dims[d] for d in back))
    if x.order == (len(x.shape) - 1,):  # Every row is the same one.
        return _embedding(b, result, x._replace(shape=x.stored, dims=(0,)), ids)
    x, ids = b.full(x), b.full(ids)
    return b.value("gather_last", ids.stored, result.element, x=x.ssa, tx=x.type, ids=ids.ssa,
                   tids=ids.type)


# ---- views

@handles("view", "reshape", "_unsafe_view", "flatten", "unflatten")
def _view(b: Builder, result: Result, x: Value, *_: object) -> Value:
    return b.viewed(x, result.shape)


@handles("transpose")
def _transpose(_: Builder, result: Result, x: Value, a: int, c: int) -> Value:
    order = list(range(len(x.shape)))
    a, c = _dim(a, len(order)), _dim(c, len(order))
    order[a], order[c] = order[c], order[a]
    return x._replace(shape=result.shape, dims=tuple(x.dims[d] for d in order))


@handles("permute")
def _permute(_: Builder, result: Result, x: Value, order: list) -> Value:
    return x._replace(shape=result.shape, dims=tuple(x.dims[_dim(d, len(order))] for d in order))


@handles("t", "numpy_T")
def _t(b: Builder, result: Result, x: Value) -> Value:
    return _transpose(b, result, x, 0, 1) if len(x.shape) == 2 else x


@handles("unsqueeze")
def _unsqueeze(_: Builder, result: Result, x: Value, dim: int) -> Value:
    dim = _dim(dim, len(result.shape))
    return x._replace(shape=result.shape, dims=x.dims[:dim] + (None,) + x.dims[dim:])


@handles("squeeze")
def _squeeze(b: Builder, _: Result, x: Value, dims: typing.Any = None) -> Value:
    rank = len(x.shape)
    chosen = range(rank) if dims is None else [dims] if isinstance(dims, int) else dims
    for d in sorted((_dim(d, rank) for d in chosen), reverse=True):
        if x.shape[d] == 1:
            x = b.squeezed(x, d)
    return x


@handles("expand")
def _expand(b: Builder, result: Result, x: Value, *_: object, **__: object) -> Value:
    added = len(result.shape) - len(x.shape)
    x = x._replace(shape=(1,) * added + x.shape, dims=(None,) * added + x.dims)
    for d, (old, new) in enumerate(zip(x.shape, result.shape, strict=True)):
        if old != new and x.dims[d] is not None:
            kept = b.squeezed(x, d)
            x = kept._replace(shape=x.shape, dims=kept.dims[:d] + (None,) + kept.dims[d:])
    return x._replace(shape=result.shape)


@handles("select")
def _select(b: Builder, _: Result, x: Value, dim: int, index: int) -> Value:
    dim = _dim(dim, len(x.shape))
    if isinstance(index, int) and index < 0:
        index += x.shape[dim]
    return b.squeezed(b.sliced(x, dim, index, 1), dim)


@handles("slice")
def _slice(b: Builder, result: Result, x: Value, dim: int = 0, start: Size = None,
           _end: Size = None, step: int = 1) -> Value:
    dim = _dim(dim, len(x.shape))
    start = 0 if start is None else start
    if isinstance(start, int) and start < 0:
        start += x.shape[dim]
        start = max(start, 0) if isinstance(start, int) else start
    return b.sliced(x, dim, start, result.shape[dim], step)


@handles("narrow")
def _narrow(b: Builder, result: Result, x: Value, dim: int, start: Size, _: Size) -> Value:
    return _slice(b, result, x, dim, start)


@handles("split", "split_with_sizes", "chunk", "unbind")
def _split(b: Builder, result: list, x: Value, *args: typing.Any) -> list:
    """A function per part, so that parts nobody takes are not cut."""
    return [("part", x, args, i, r) for i, r in enumerate(result)]


def part_of(b: Builder, name: str, parts: list, index: int) -> Value:
    """Part `index` of a split, or of several results."""
    if isinstance(parts[index], Value):
        return parts[index]
    _, x, args, _, result = parts[index]
    if name == "unbind":
        return _select(b, result, x, args[0] if args else 0, index)
    dim = _dim(args[1] if len(args) > 1 else 0, len(x.shape))
    start = sum(p[4].shape[dim] for p in parts[:index])
    return b.sliced(x, dim, start, result.shape[dim])


@handles("cat")
def _cat(b: Builder, result: Result, values: list, dim: int = 0) -> Value:
    dim = _dim(dim, len(result.shape))
    values = [b.cast(v, result.element) for v in values if v.shape != (0,) and v.shape[dim] != 0]
    same = {frozenset(v.order) for v in values}
    if len(same) == 1 and values[0].dims[dim] is not None and all(
            s == 1 for v in values for s, p in zip(v.shape, v.dims, strict=True) if p is None):
        values = [b.permuted(v, values[0].order) for v in values]
        dims, at = values[0].dims, values[0].dims[dim]
        stored = tuple(result.shape[d] for d in values[0].order)
    else:
        values = [b.full(v) for v in values]
        dims, at, stored = tuple(range(len(result.shape))), dim, result.shape
    made = b.value("concat", stored, result.element, dim=at,
                   inputs=", ".join(v.ssa for v in values),
                   tinputs=", ".join(v.type for v in values))
    b.parts[made.ssa] = at, values
    return made._replace(shape=result.shape, dims=dims)


@handles("stack")
def _stack(b: Builder, result: Result, values: list, dim: int = 0) -> Value:
    dim = _dim(dim, len(result.shape))
    thin = Result(result.shape[:dim] + (1,) + result.shape[dim + 1:], result.element)
    return _cat(b, result, [_unsqueeze(b, thin, v, dim) for v in values], dim)
