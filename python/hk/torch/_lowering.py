"""An exported graph of PyTorch, leaves substituted, as the text of an hk function."""

import operator
import re
import typing

import torch

from ..errors import UnsupportedModel
from . import _aten, _fill, _integers, _routing, _sdpa  # noqa: F401 - registers handlers
from ._aten import Result, element_of
from ._builder import Builder, Codes, Size, Value
from ._complex import Complex, Parts, has_complex
from ._convolutions import resizing
from ._mlir import ELEMENT_TYPES, SPELLING, Writer, distance_region, number, seen_region, tensor_type
from ._quantised import PACKED, Quantised
from ._signature import Argument

Signature = typing.Any  # Paged, Dense or Plain.
BY_TAP = ".by_tap"  # Behind the name of a convolution's weight whose elements are in hk's order.


def _size(size: typing.Any) -> Size:
    """An int, or the sympy expression of a size."""
    if isinstance(size, int):
        return size
    expression = size.node.expr
    return int(expression) if expression.is_Integer else expression


def _result(value: typing.Any) -> typing.Any:
    if isinstance(value, torch.Tensor):
        return Result(tuple(_size(s) for s in value.shape), element_of(value.dtype))
    return [_result(v) for v in value]


def _name_of(target: torch._ops.OpOverload) -> str:
    """"linear" for aten.linear.default, "hk.rope" for hk's own."""
    namespace, _, name = target._schema.name.partition("::")
    return name if namespace == "aten" else f"{namespace}.{name}"


def is_lowered(target: torch._ops.OpOverload) -> bool:
    """Whether an operator is lowered as it is, not by PyTorch's formula of it."""
    return _name_of(target) == "arange" or _aten.is_known(_name_of(target))


def where(node: torch.fx.Node) -> str:
    """The model's line that a node comes from."""
    lines = (node.meta.get("stack_trace") or "").strip().splitlines()
    for i in range(len(lines) - 1, -1, -1):
        found = re.search(r'File "([^"]+)", line (\d+)', lines[i])
        if found and "/torch/" not in found[1] and "/hk/torch/" not in found[1]:
            code = lines[i + 1].strip() if i + 1 < len(lines) else ""
            return f"{found[1].rsplit('/', 1)[-1]}:{found[2]}: `{code}`"
    return f"node {node.name}"


def _hint(node: torch.fx.Node) -> str:
    """A name from the module that a node belongs to: l0_q_proj."""
    stack = node.meta.get("nn_module_stack") or {}
    path = list(stack.values())[-1][0] if stack else ""
    layer = re.search(r"\.(?:layers|layer|h|blocks)\.(\d+)", "." + path)
    last = path.rsplit(".", 1)[-1]
    own = node.name.rstrip("_0123456789") or node.name
    name = last if own in ("linear", "rms_norm", "layer_norm", "embedding", "addmm") and last else own
    return f"l{layer[1]}_{name}" if layer else name


class Lowering:
    """Lowers one exported program."""

    def __init__(self, program: torch.export.ExportedProgram, signature: Signature,
                 arguments: list[Argument], names: dict[int, str], stored: dict[str, Quantised]):
        self.program, self.signature, self.arguments = program, signature, arguments
        self.counting: set[str] = set()  # Values that are 0, 1, 2, ...
        self.names = names  # Of weights, by the address of their data.
        self.stored = stored
        self.weights: dict[str, torch.Tensor] = {}
        self.types: dict[str, str] = {}  # Of weights, in MLIR.
        self.orders: dict[str, Value] = {}  # Of columns of weights.
        self.writer = Writer()
        for argument in self.arguments:
            self.writer.fresh(argument.name)
        self.builder = Builder(self.writer, self._symbol, self._row, self._iota)
        self.values: dict[str, Value] = {
            a.name: Value("%" + a.name, a.stored, a.element, a.stored, tuple(range(len(a.stored))))
            for a in self.arguments}
        self.env: dict[torch.fx.Node, typing.Any] = {}
        self.fixed: set[torch.fx.Node] = set()  # Those that depend on no argument or weight.
        self.symbols: dict[typing.Any, tuple[str, int]] = {}

    # ---- inputs

    def _symbol(self, symbol: Size) -> str:
        if symbol not in self.symbols:
            raise UnsupportedModel(f"a size ({symbol}) depends on data; hk takes sizes from the "
                                   "shapes of inputs")
        name, dim = self.symbols[symbol]
        index = self.builder.index(dim)
        value = self.values[name]
        return self.writer.emit("dim", f"{name}_size", x=value.ssa, index=index, tx=value.type)

    def _given(self, node: torch.fx.Node) -> tuple[str, torch.Tensor] | None:
        """The name and value of an input that is a weight or a number in the model's code."""
        signature = self.program.graph_signature
        for table in (signature.inputs_to_parameters, signature.inputs_to_buffers,
                      signature.inputs_to_lifted_tensor_constants):
            if node.name in table:
                source = table[node.name]
                tensor = self.program.state_dict.get(source)
                return source, self.program.constants[source] if tensor is None else tensor
        return None

    def _placeholder(self, node: torch.fx.Node) -> typing.Any:
        if (given := self._given(node)) is not None:
            return self._weight, *given
        name = self.signature.exported[self._inputs]
        self._inputs += 1
        value = self.values[name]
        shape = tuple(_size(s) for s in node.meta["val"].shape)
        for dim, size in enumerate(shape):
            if not isinstance(size, int):
                self.symbols.setdefault(size, (name, dim))
        self.values[name] = value._replace(stored=shape, shape=shape)
        return self.values[name]

    def _weight(self, source: str, tensor: torch.Tensor) -> typing.Any:
        """A reference to a weight; a scalar becomes a constant."""
        if tensor.is_complex():
            parts = (("real", tensor.real), ("imag", tensor.imag))
            return Complex(*(self._weight(f"{source}.{name}", part.float().contiguous())
                             for name, part in parts))
        element = element_of(tensor.dtype)
        if tensor.dim() == 0:
            return self.builder.constant(tensor.item(), element)
        name = self.names.get(tensor.data_ptr(), source)
        # A view of a weight's first rows shares its address and is another tensor.
        if name in self.weights and self.weights[name].shape != tensor.shape:
            name = source
        if name in self.stored:
            return self._stored_weight(name, self.stored[name], element)
        return self._weight_ref(name, tensor, element, tuple(tensor.shape))

    def _row(self, name: str, number_: float, element: str, width: int) -> Value:
        dtype = next(d for d, names in ELEMENT_TYPES.items() if names[0] == element)
        return self._weight_ref(name, torch.full((width,), number_, dtype=getattr(torch, dtype)),
                                element, (width,))

    def _weight_ref(self, name: str, tensor: torch.Tensor, element: str, shape: tuple) -> Value:
        self.weights.setdefault(name, tensor)
        self.types[name] = tensor_type(shape, element)
        self.builder.hint = re.sub(r"\W+", "_", name)
        return self.builder.value("weight_ref", shape, element, symbol=_symbol(name))

    def _stored_weight(self, name: str, stored: Quantised, element: str) -> Value:
        """The values of a weight that stays as its file has it."""
        *rows, columns = stored.codes.shape
        columns *= 2 if stored.element in PACKED else 1
        codes = self._weight_ref(f"{name}.codes", stored.codes, stored.element, (*rows, columns))
        parameters, words = [], f"group {stored.group}"
        for part, tensor in (("scales", stored.scales), ("offsets", stored.offsets)):
            if tensor is not None:
                parameters.append(self._weight_ref(f"{name}.{part}", tensor,
                                                   element_of(tensor.dtype), tuple(tensor.shape)))
        if stored.offsets is not None:
            words = f"offset {words}"
        elif isinstance(stored.zero, torch.Tensor):
            parameters.append(self._weight_ref(f"{name}.zeros", stored.zero, "i8",
                                               tuple(stored.zero.shape)))
        elif stored.zero:
            parameters.append(self.builder.value("constant", (1,), "i8", value=stored.zero))
        self.builder.hint = re.sub(r"\W+", "_", name)
        made = self.builder.dequantised(Codes(codes, tuple(parameters), words), element)
        if stored.order is not None:
            self.builder.ordered[made.ssa] = self._order(stored.order)
        if stored.turned:
            return made._replace(shape=tuple(made.stored[d] for d in (0, 2, 1)), dims=(0, 2, 1))
        return made

    def _order(self, order: torch.Tensor) -> Value:
        """Matrices of the same rows have the same order: those are one weight."""
        name = next((n for n, t in self.weights.items() if n.startswith("hk.order.")
                     and torch.equal(t, order)), f"hk.order.{len(self.weights)}")
        if name not in self.orders:
            self.orders[name] = self._weight_ref(name, order, "i32", tuple(order.shape))
        return self.orders[name]

    # ---- nodes

    def _argument(self, value: typing.Any) -> typing.Any:
        if isinstance(value, torch.fx.Node):
            made = self.env[value]
            if isinstance(made, tuple) and made and callable(made[0]) and not isinstance(made, Value):
                made = self.env[value] = made[0](*made[1:])
            return made
        if isinstance(value, (list, tuple)):
            return [self._argument(v) for v in value]
        return value

    def _call(self, node: torch.fx.Node) -> typing.Any:
        value = node.meta.get("val")
        if isinstance(value, (int, torch.SymInt)):
            return _size(value)
        if node.target is operator.getitem:
            parts, index = node.args
            return _aten.part_of(self.builder, _name_of(parts.target), self.env[parts], index)
        if not isinstance(node.target, torch._ops.OpOverload):
            raise UnsupportedModel("hk's import takes aten operators only")
        name = _name_of(node.target)
        if name == "index" and (place := self._one_place(node)):
            return self.builder.sliced(self._argument(node.args[0]), *place, 1)
        if node in self.fixed and not is_lowered(node.target):
            return self._weight_of(node)
        if sources := self._moved(node):
            # The same elements in another order, made once.
            return self._weight(f"{sources[0]}{BY_TAP}", self._folded(node).detach())
        if isinstance(value, torch.Tensor) and any(isinstance(s, int) and s == 0 for s in value.shape):
            # Register tokens of a model that has none.
            return _fill.filled(self.builder, _result(value), 0)
        args = tuple(self._argument(a) for a in node.args)
        kwargs = {k: self._argument(v) for k, v in node.kwargs.items()}
        if name != "linear" and any(isinstance(a, Value) and a.ssa in self.builder.ordered
                                    for a in args):
            raise UnsupportedModel("a weight whose columns are in an order of their own (desc_act) "
                                   "that is no linear layer's; import with --widen-weights")
        self.builder.hint = _hint(node)
        if has_complex(value) or any(isinstance(a, Complex) for a in (*args, *kwargs.values())):
            shape = tuple(_size(s) for s in value.shape)
            return Parts(self.builder, name, shape, self._weight).lower(args, kwargs)
        result = _result(value)
        if name == "hk.attention":
            return self._attention(result, *args)
        if name == "hk.attention_by_distance":
            return self._by_distance(result, *args)
        if name == "hk.causal_conv1d":
            return self._conv(result, *args)
        if name == "hk.gated_delta_rule":
            return self._rule(result, *args)
        if name == "arange":
            return self._arange(node, result)
        if name == "hk.resized":
            return self._resized(result, *args)
        if name == "hk.rope":
            return self._rope(result, *args)
        if name == "hk.rope_rows":
            return self._rope(result, *args[:3], None, *args[3:])
        return _aten.lower(self.builder, name, result, args, kwargs)

    def _resized(self, result: Result, x: Value, dim: int, *how: typing.Any) -> Value:
        """A product with the matrix that interpolates along `dim`."""
        name = ".".join(map(str, ("hk.resize", x.shape[dim], *how)))
        matrix = self._weight(name, resizing(x.shape[dim], *how))
        order = [d for d in range(len(x.shape)) if d != dim] + [dim]
        wide = self.builder.cast(self.builder.permuted(self.builder.full(x), order), "f32")
        made = self.builder.value("matmul", (*wide.stored[:-1], result.shape[dim]), "f32",
                                  x=wide.ssa, y=matrix.ssa, tx=wide.type, ty=matrix.type,
                                  attributes="")
        return self.builder.cast(made, result.element)._replace(
            shape=result.shape, dims=tuple(order.index(d) for d in range(len(order))))

    def _folded(self, node: torch.fx.Node, known: dict | None = None) -> torch.Tensor:
        """The value of what is computed of numbers in the model's code, or of weights; each node of
        it once."""
        known = {} if known is None else known
        if node not in known:
            if node.op == "placeholder":
                known[node] = self._given(node)[1]
            else:
                args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs),
                                                     lambda n: self._folded(n, known))
                known[node] = node.target(*args, **kwargs)
        return known[node]

    def _weight_of(self, node: torch.fx.Node) -> typing.Any:
        return self._weight(f"hk.{node.name}", self._folded(node))

    def _is_fixed(self, node: torch.fx.Node) -> bool:
        """Whether a node's value is the same in every call, and no weight's."""
        if node.op == "placeholder":
            return node.name in self.program.graph_signature.inputs_to_lifted_tensor_constants
        if not isinstance(node.target, torch._ops.OpOverload):
            return False
        counted = _name_of(node.target) == "arange" and all(
            isinstance(a, (int, float)) for a in node.args)
        return counted or (bool(node.all_input_nodes)
                           and all(n in self.fixed for n in node.all_input_nodes))

    def _moved(self, node: torch.fx.Node) -> list[str]:
        """The weights of a convolution that are moved at import: all that a node is computed of."""
        if node.target is not torch.ops.hk.by_tap.default:
            return []
        found, seen, left = [], {node}, [node]
        for one in iter(lambda: left.pop() if left else None, None):
            if one.op == "placeholder":
                if (given := self._given(one)) is None:
                    return []
                found.append(self.names.get(given[1].data_ptr(), given[0]))
            left += [n for n in one.all_input_nodes if n not in seen]
            seen.update(one.all_input_nodes)
        return sorted(found)

    def _one_place(self, node: torch.fx.Node) -> tuple[int, int] | None:
        """(dim, place) where an index is one that the model's code writes: x[:, [-2]]."""
        given = [(d, n) for d, n in enumerate(node.args[1]) if n is not None]
        if len(given) != 1:
            return None
        dim, source = given[0]
        while source.op == "call_function" and isinstance(
                source.target, torch._ops.OpOverload) and _name_of(source.target) in _aten.IDENTITY:
            source = source.args[0]
        constants = self.program.graph_signature.inputs_to_lifted_tensor_constants
        if source.name not in constants:
            return None
        places = self.program.constants[constants[source.name]]
        if places.dtype.is_floating_point or places.shape != (1,):
            return None
        place, size = int(places), _size(node.args[0].meta["val"].shape[dim])
        return (dim, place + size if place < 0 else place) if place >= 0 or isinstance(
            size, int) else None

    def _arange(self, node: torch.fx.Node, result: Result) -> Value:
        """0, 1, 2, ... with a step and a start. Of the tokens of a call, which are of several
        sequences, the positions that the call gives."""
        start = node.args[0] if len(node.args) > 1 else 0
        step = node.args[2] if len(node.args) > 2 else 1
        if not isinstance(start, int) or not isinstance(step, int):
            if not all(isinstance(a, (int, float)) for a in node.args):
                raise UnsupportedModel("arange from a start that is not known at compile time; "
                                       "hk's import has numbers")
            name = ".".join(map(str, (*node.args, result.element)))
            return self._weight(f"hk.arange.{name}",
                                torch.arange(*node.args).to(node.meta["val"].dtype))
        size = result.shape[0]
        if isinstance(size, int) or self.signature.dense:
            made = self._iota(size, result.element)
        else:
            made = self.values["positions"]
            if result.shape != made.shape or step != 1:
                raise UnsupportedModel(f"it counts to {size}, which is not how many "
                                       "tokens a call has; use position_ids")
            made = self.builder.cast(made, result.element)
        for name, number, absent in (("mul", step, 1), ("add", start, 0)):
            if number != absent:
                made = _aten.lower(self.builder, name, result, (made, number), {})
        return made

    def _iota(self, size: Size, element: str) -> Value:
        b = self.builder
        own = element if element in ("f32", "i32", "i64") else "f32"
        if isinstance(size, int):
            return b.cast(b.value("iota", (size,), own), element)
        like = next(((v, d) for v in (*self.values.values(), *self.env.values())
                     if isinstance(v, Value) for d, s in enumerate(v.stored) if s == size), None)
        if like is None:
            raise UnsupportedModel(f"it counts to {size}, which is the size of no tensor")
        made = b.value("iota_like", (size,), own, x=like[0].ssa, tx=like[0].type, dim=like[1])
        made = b.cast(made, element)
        self.counting.add(made.ssa)
        return made

    def _rope(self, result: Result, x: Value, cos: Value, sin: Value, positions: Value | None,
              style: str, heads: int) -> Value:
        """Without positions the tables have a row for each token."""
        b = self.builder
        tokens = tuple(d for d in range(len(x.shape) - 1) if d != heads)
        x = b.permuted(x, (*tokens, heads, len(x.shape) - 1))
        if x.dims[heads] is None:
            x = b.reshaped(x, tuple(x.stored[:-1]) + (1, x.stored[-1]))._replace(
                shape=x.shape, dims=tuple(len(x.stored) - 1 if d == heads else
                                          len(x.stored) if d == len(x.shape) - 1 else x.dims[d]
                                          for d in range(len(x.shape))))
        fields = {"style": style, "x": x.ssa, "tx": x.type, "cos": cos.ssa, "tcos": cos.type,
                  "sin": sin.ssa, "tsin": sin.type}
        if positions is None:
            made = self._rope_rows(result, x, x.dims[tokens[-1]], cos, sin, style)
        elif positions.ssa in self.counting:
            made = b.value("rope_by_index", x.stored, result.element,
                           dim=x.dims[tokens[-1]], **fields)
        else:
            positions = b.dense(positions)
            made = b.value("rope", x.stored, result.element, p=positions.ssa, tp=positions.type,
                           **fields)
        return made._replace(shape=result.shape, dims=x.dims)

    def _rope_rows(self, result: Result, x: Value, dim: int, cos: Value, sin: Value, style: str
                   ) -> Value:
        b = self.builder
        cos, sin = (b.cast(b.dense(t), "f32") for t in (cos, sin))
        if len(cos.stored) != 2:
            raise UnsupportedModel("rotary angles of their own for each of several sequences; "
                                   "hk.rope takes a table and positions")
        return b.value("rope_by_index", x.stored, result.element, dim=dim, style=style, x=x.ssa,
                       tx=x.type, cos=cos.ssa, tcos=cos.type, sin=sin.ssa, tsin=sin.type)

    def _attention(self, result: Result, q: Value, k: Value, v: Value, _extents: Value,
                   sink: Value | None, bias: Value | None, dense: bool, scale: float,
                   causal: bool, window_left: int, window_right: int, chunk: int, softcap: float,
                   layer: int) -> Value:
        b = self.builder
        q, k, v, names = self.signature.attention(b, self.values, result, q, k, v, layer)
        b.hint = f"l{layer}_attention"
        operands = [(n, self.values[n]) for n in names]
        if sink is not None:
            operands.append(("sink", b.cast(b.full(sink), "f32")))
        reads = None if bias is None else b.full(bias)
        # hk's windows count from a sequence's last key, which padding stands behind.
        limits = [("j", "i", 0)] * causal + [("i", "j", window_left)] * (window_left >= 0)
        limits += [("j", "i", window_right)] * (window_right >= 0)
        region = seen_region(limits if dense else [], chunk, from_last=not dense,
                             bias=() if reads is None else reads.stored)
        attributes = ["causal"] * (causal and not dense)
        attributes += [f"window_left {window_left}"] * (window_left >= 0 and not dense)
        attributes += [f"window_right {window_right}"] * (window_right >= 0 and not dense)
        attributes += [f"softcap {number(softcap, 'f32')}"] * bool(softcap)
        made = b.value("attention", (*q.stored[:-1], v.stored[-1]), result.element,
                       q=q.ssa, k=k.ssa, v=v.ssa, tq=q.type, tk=k.type, tv=v.type,
                       scale=f"{scale:.9e}",
                       operands=" ".join([*(f"{n} {o.ssa}" for n, o in operands),
                                          *([f"reads ({reads.ssa})"] if reads else [])]),
                       toperands=" ".join([*(f"{n} {o.type}" for n, o in operands),
                                           *([f"reads ({reads.type})"] if reads else [])]),
                       attributes=f" {' '.join(attributes)}" if attributes else "",
                       region=region)
        return self.signature.attended(b, result, made)

    def _by_distance(self, result: Result, q: Value, k: Value, v: Value, _extents: Value,
                     queries: Value | None, keys: Value | None, columns: Value, scale: float,
                     layer: int) -> Value:
        b = self.builder
        q, k, v, (lens,) = self.signature.attention(b, self.values, result, q, k, v, layer)
        tables = {name: b.reshaped(b.permuted(t, (1, 0, 2, 3)), tuple(
            t.shape[d] for d in (1, 0, 2, 3)))
            for name, t in (("i", queries), ("j", keys)) if t is not None}
        columns = b.full(columns)
        reads = [columns, *tables.values()]
        b.hint = f"l{layer}_attention"
        made = b.value(
            "attention", (*q.stored[:-1], v.stored[-1]), result.element, q=q.ssa, k=k.ssa, v=v.ssa,
            tq=q.type, tk=k.type, tv=v.type, scale=f"{scale:.9e}", attributes="",
            operands=f"{lens} {self.values[lens].ssa} reads ({', '.join(t.ssa for t in reads)})",
            toperands=f"{lens} {self.values[lens].type} reads ({', '.join(t.type for t in reads)})",
            region=distance_region(tables, columns))
        return self.signature.attended(b, result, made)

    # ---- recurrent layers

    def _stateful(self, form: str, name: str, stored: tuple, element: str, operands: list,
                  **fields: object) -> Value:
        """An operator of ragged tokens that reads and writes the state of this name."""
        b = self.builder
        state = self.values[name]
        operands = [*operands, *self.signature.recurrent(b, self.values, state)]
        after = b.writer.fresh(f"{name}_after")
        made = b.value(form, stored, element, state=after, tstate=state.type,
                       operands=" ".join(f"{n} {o.ssa}" for n, o in operands),
                       toperands=" ".join(f"{n} {o.type}" for n, o in operands), **fields)
        self.values[name] = state._replace(ssa=after)
        return made

    def _conv(self, result: Result, x: Value, weight: Value, bias: Value | None, _extents: Value,
              silu: bool, layer: int) -> Value:
        b = self.builder
        x = b.permuted(x, (2, 1))
        x = b.reshaped(x, (x.shape[2], x.shape[1]))
        weight = b.full(weight)
        # The sums are rounded once, behind the activation.
        made = self._stateful("causal_conv1d", f"conv_{layer}", x.stored,
                              "f32" if silu else result.element,
                              [] if bias is None else [("bias", b.full(bias))], x=x.ssa, tx=x.type,
                              w=weight.ssa, tw=weight.type)
        if silu:
            made = b.unary("silu", made, result.element)
        return made._replace(shape=result.shape, dims=(None, 1, 0))

    def _rule(self, result: Result, q: Value, k: Value, v: Value, decay: Value, beta: Value | None,
              _extents: Value, scale: float, l2norm: float, rule: str, layer: int) -> Value:
        b = self.builder
        q, k, v, decay = (b.reshaped(b.dense(x), x.shape[1:]) for x in (q, k, v, decay))
        operands = [("decay" if len(decay.shape) == 2 else "key_decay", b.cast(decay, "f32"))]
        if beta is not None:
            operands.append(("beta", b.cast(b.reshaped(b.dense(beta), beta.shape[1:]), "f32")))
        attributes = f" rule {rule}" * (rule != "delta")
        attributes += f" scale {scale:.9e}" * (scale != q.shape[-1] ** -0.5)
        attributes += f" l2norm {l2norm:.9e}" * bool(l2norm)
        made = self._stateful("gated_delta_rule", f"state_{layer}", v.stored, result.element,
                              operands, q=q.ssa, k=k.ssa, v=v.ssa, tq=q.type, tk=k.type, tv=v.type,
                              attributes=attributes)
        return made._replace(shape=result.shape, dims=(None, 0, 1, 2))

    # ---- the whole

    def run(self) -> str:
        """The module's text; `weights` then has the tensors it refers to."""
        nodes = list(self.program.graph.nodes)
        used: set = set()
        for node in reversed(nodes):
            if node.op == "output" or node in used:
                used.update([] if self._moved(node) else node.all_input_nodes)
        self._inputs = 0
        last = ""
        for node in nodes:
            if node.op != "output" and self._is_fixed(node):
                self.fixed.add(node)
            if node.op == "placeholder":
                self.env[node] = self._placeholder(node)
            elif node.op == "call_function" and node in used:
                layer = re.match(r"l(\d+)_", _hint(node))
                if layer and layer[1] != last:
                    last = layer[1]
                    self.writer.comment(f"Layer {last}.")
                self.env[node] = self._guarded(node)
        outputs = next(n for n in nodes if n.op == "output").args[0]
        made = []
        given = [output for output in outputs if output is not None]
        for name, output in zip(self.signature.results, given, strict=True):
            self.builder.hint = name
            value = self._argument(output)
            if isinstance(value, Complex):
                raise UnsupportedModel(f"result '{name}' is of complex numbers, which hk's functions do "
                                       "not return; return torch.view_as_real of it")
            if not isinstance(value, Value):
                raise UnsupportedModel(f"result '{name}' is {output}, which is no tensor; hk's "
                                       "functions return tensors, so leave it out (a wrapper)")
            if value.element == "i32":  # Of a place, which PyTorch has as int64.
                value = self.builder.cast(value, element_of(output.meta["val"].dtype))
            made.append(self.builder.full(value))
        return self._text(made)

    def _guarded(self, node: torch.fx.Node) -> typing.Any:
        try:
            return self._call(node)
        except UnsupportedModel as error:
            # Made where it is read: a table may be computed in f64 before.
            if node in self.fixed and isinstance(node.meta.get("val"), torch.Tensor):
                return self._weight_of, node
            raise UnsupportedModel(f"{where(node)}: {node.target}: {error}") from None
        except (TypeError, KeyError) as error:
            raise UnsupportedModel(f"{where(node)}: {node.target}: hk's import does not take its "
                                   f"arguments {node.args[1:]} {dict(node.kwargs)} ({error})"
                                   ) from None

    def _text(self, made: list[Value]) -> str:
        states = [a for a in self.arguments if a.state]
        header = [SPELLING["weight"].format(symbol=_symbol(name), source=name, tr=self.types[name])
                  for name in self.weights]
        inputs = ",\n    ".join(f"%{a.name}: {_argument_type(a)}" for a in self.arguments)
        results = ",\n     ".join([*(f'{v.type} {{hk.name = "{name}"}}' for v, name in
                                     zip(made, self.signature.results, strict=True)),
                                   *(a.type for a in states)])
        values = ", ".join([*(v.ssa for v in made), *(self.values[a.name].ssa for a in states)])
        types = ", ".join([*(v.type for v in made), *(a.type for a in states)])
        return "\n".join([*header, "", f"func.func @{self.signature.function}(\n    {inputs})",
                          f"    -> ({results}) {{", *self.writer.lines,
                          f"  return {values} : {types}", "}", ""])


def _argument_type(argument: Argument) -> str:
    return argument.type + (" {hk.state}" if argument.state else "")


def _symbol(name: str) -> str:
    """A name that MLIR takes: one of a Sequential begins with a digit."""
    return re.sub(r"^(?=[^a-zA-Z_])|[^\w.$]", "_", name)

