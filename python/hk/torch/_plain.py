"""Import of any nn.Module: the tensors that its forward takes are the arguments of the function,
and what it returns are the results. No states, no serving signature."""

import typing

import torch

from ..errors import UnsupportedModel
from . import _leaves  # noqa: F401 - registers torch.ops.hk
from ._aten import element_of
from ._converted import convert
from ._precision import Change, computing_in, numbers_of, one_up, perturbed, shared_copy
from ._signature import Argument


class Plain:
    """The arguments and results of an exported program, in its order; `adapted` makes the module
    that was exported of the one that a caller has."""

    dense = True
    function = "forward"
    adapted: typing.Callable[[torch.nn.Module], torch.nn.Module] = staticmethod(lambda m: m)

    def __init__(self, program: torch.export.ExportedProgram, args: tuple):
        signature = program.graph_signature
        _require_pure(signature)
        inputs = set(signature.user_inputs)
        nodes = [n for n in program.graph.nodes if n.op == "placeholder" and n.name in inputs]
        for node in nodes:
            if not isinstance(node.meta.get("val"), torch.Tensor):
                raise UnsupportedModel(f"argument '{node.name}' is no tensor; hk's functions take "
                                       "tensors, so bind it: functools.partial or a wrapper")
        self.args = args  # Of the example, for the check.
        self.exported = tuple(n.name for n in nodes)
        self.sizes = [tuple(n.meta["val"].shape) for n in nodes]
        self.arguments = [Argument(n.name, tuple(s if isinstance(s, int) else "?" for s in shape),
                                   element_of(n.meta["val"].dtype))
                          for n, shape in zip(nodes, self.sizes, strict=True)]
        outputs = signature.user_outputs
        names = _names_of(program)
        if len(names) != len(outputs):
            names = ("result",) if len(outputs) == 1 else tuple(
                f"result_{i}" for i in range(len(outputs)))
        # Arguments and results of a function have names of their own.
        names = _apart(names, self.exported)
        self.results = tuple(n for n, o in zip(names, outputs, strict=True) if o is not None)
        if not self.results:
            raise UnsupportedModel("the module returns no tensor; hk's functions return tensors")

    def smaller(self) -> tuple | None:
        """The example with every dynamic size one smaller; None where nothing is dynamic."""
        cut, args = False, []
        for arg, shape in zip(self.args, self.sizes, strict=True):
            for dim, size in enumerate(shape):
                if not isinstance(size, int) and size.node.expr.is_Symbol and arg.shape[dim] > 2:
                    arg, cut = arg.narrow(dim, 0, arg.shape[dim] - 1), True
            args.append(arg.contiguous())
        return tuple(args) if cut else None


def _require_pure(signature: torch.export.ExportGraphSignature) -> None:
    """A function changes nothing but its results."""
    for kind, changed in (("buffer", signature.buffers_to_mutate),
                          ("argument", signature.user_inputs_to_mutate)):
        for name in changed.values():
            raise UnsupportedModel(f"forward changes its {kind} '{name}' in place; hk's functions "
                                   "leave what they read as it is: compute with a copy (clone()) "
                                   "there, and return what shall be kept")


def _apart(names: typing.Sequence[str], taken: typing.Sequence[str]) -> tuple[str, ...]:
    """The names of results, none of which is another's or an argument's."""
    made: list[str] = []
    for i, name in enumerate(names):
        while name in taken or name in made or name in names[i + 1:] and name != names[i]:
            name += "_result"
        made.append(name)
    return tuple(made)


def _names_of(program: torch.export.ExportedProgram) -> tuple[str, ...]:
    """The keys of a dict or the fields of a named tuple that the module returns."""
    spec = program.call_spec.out_spec
    if spec is not None and spec.type is dict:
        return tuple(map(str, spec.context))
    return tuple(getattr(spec.context, "_fields", ())) if spec is not None else ()


def as_args(args: typing.Any) -> tuple:
    """The example arguments of a module."""
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    for i, arg in enumerate(args):
        if not isinstance(arg, torch.Tensor):
            raise UnsupportedModel(f"example argument {i} is a {type(arg).__name__}; hk's functions "
                                   "take tensors")
    return args


def differences(model: torch.nn.Module, function: typing.Any, signature: Plain,
                dtype: torch.dtype) -> typing.Iterator[tuple]:
    """(hk's results, the module's one precision up, in the import's type, and with sums that are
    off) of the example, and of a smaller one."""
    up = one_up(dtype)
    rounded = convert(signature.adapted(shared_copy(model)).eval(), dtype)

    def run(args: tuple, kind: torch.dtype, change: Change | None = None) -> list[torch.Tensor]:
        with computing_in(rounded, kind, change):
            args = [a.to(kind) if a.is_floating_point() else a for a in args]
            try:
                with numbers_of(kind if kind == torch.float64 else torch.get_default_dtype()):
                    made = rounded(*args)
            except RuntimeError:  # Where it multiplies them with what it says is f32.
                made = rounded(*args)
        return [t.double() for t in torch.utils._pytree.tree_leaves(made)
                if isinstance(t, torch.Tensor)]

    for args in (signature.args, signature.smaller()):
        if args is not None:
            given = [a.to(dtype) if a.is_floating_point() else a for a in args]
            found = [t.torch().double() for t in function(*given)]
            yield found, run(given, up), run(given, dtype), run(given, up, perturbed)
