"""Export: from an nn.Module to a Graph, which is MLIR text and weights."""

import contextlib
import dataclasses
import functools
import inspect
import json
import os
import pathlib
import re
import typing
import warnings

import torch

from .._safetensors import FILES
from ..errors import Error, InvalidArgument, UnsupportedModel
from . import (  # noqa: F401 - registers torch.ops.hk
    _convolutions,
    _experts,
    _leaves,
    _mixers,
    _norms,
    _perception,
    _source,
)
from ._aten import element_of
from ._converted import convert
from ._formulas import FORMULAS, steps_text
from ._lowering import BY_TAP, Lowering, is_lowered, where
from ._in_place import in_place
from ._masks import Mask
from ._places import places
from ._plain import Plain, as_args
from ._precision import shared_copy
from ._quantised import Quantised
from ._settings import require_same, settings
from ._signature import Argument, Dense, Paged
from ._substitution import Substitution
from ._untraced import (
    conversions_that_change,
    first_lines,
    refusal,
    told,
    without_partial_graph,
)

Progress = typing.Callable[[str], None]
CONTEXT = 4096  # Of a model that names none.
LONGEST_CONTEXT = 1 << 24
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclasses.dataclass
class Graph:
    """An imported model: `mlir`, the tensors of its weights by name (as the file has them: two
    4-bit codes to a byte), its arguments, the type that it computes in, and what the import
    could not replace (`notes`)."""

    mlir: str
    tensors: dict[str, torch.Tensor]
    arguments: list[Argument]
    dtype: torch.dtype
    signature: Paged | Dense | Plain
    notes: list[str]
    vocabulary: int
    context: int
    windows: list[int]
    folder: pathlib.Path | None = None  # That the model was read from.

    def save(self, path: str | os.PathLike, *, copy_weights: bool = False
             ) -> tuple[pathlib.Path, pathlib.Path]:
        """Writes PATH and, beside it, the weights with the suffix .safetensors. Weights that the
        model's folder has as they are stay there, and the file names that of each
        (docs/weights.md); with `copy_weights` it has all of them. Raises InvalidArgument where
        they would replace the weights of a model."""
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        mlir, weights = places(path)
        kept = {} if copy_weights or not self.folder else in_place(self.tensors, self.folder)
        files = [os.path.relpath(f, mlir.parent.resolve()) for f in sorted(set(kept.values()))]
        try:
            save_file({n: t.detach().contiguous() for n, t in self.tensors.items()
                       if n not in kept}, weights, {FILES: json.dumps(files)} if files else None)
            mlir.write_text(self.mlir)
        except (OSError, SafetensorError) as error:
            size = sum(t.nbytes for t in self.tensors.values())
            raise Error(f"cannot write '{mlir}' and '{weights}': {error}; the weights are {size} "
                        "bytes") from error
        return mlir, weights


def default_signature(model: torch.nn.Module) -> str:
    """"paged" for a model that generates, else "dense"."""
    return "paged" if getattr(model, "can_generate", lambda: False)() else "dense"


def _context_of(model: torch.nn.Module, context: int | None) -> int:
    return context or getattr(model.config.get_text_config(), "max_position_embeddings",
                              CONTEXT)


class _Wrapper(torch.nn.Module):
    """The model with the arguments of a signature."""

    def __init__(self, model: torch.nn.Module, signature: Paged | Dense, s: Substitution):
        super().__init__()
        self.model, self.signature, self._substitution = model, signature, s

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        self._substitution.begin()
        return self.signature.call(self.model, self._substitution, *args)


def _prepare(model: torch.nn.Module, signature: Paged | Dense, context: int, progress: Progress
             ) -> tuple[_Wrapper, Substitution]:
    """The model looked at, ready for wrapper(*args) under substitution.active()."""
    progress("leaves: probe norms, fit masks and rotary embeddings")
    s = Substitution(model, dense=signature.dense, context=context)
    vocabulary = model.config.get_text_config().vocab_size
    ids = torch.randint(0, vocabulary, (1, 6), generator=torch.Generator().manual_seed(2))
    ids = unpadded(model, ids)
    _observed(s, ids, vocabulary, context)
    if isinstance(signature, Paged):
        signature.first = _first_position(model, ids)
        _require_apart(_Wrapper(model, signature, s), s, vocabulary)
    elif s.written is None:
        with s.active():
            signature.look(model, s, ids)
    return _Wrapper(model, signature, s), s


def _require_apart(wrapper: _Wrapper, s: Substitution, vocabulary: int) -> None:
    """No token sees a later one, nor one of another sequence: what mixes tokens is hk's, which keeps
    them apart. Looked at in two sequences, of which the first one's last token changes."""
    args, _ = wrapper.signature.examples(vocabulary, wrapper.model)
    ids, end = unpadded(wrapper.model, args[0]), int(args[2][1])
    changed = ids.clone()
    changed[end - 1] = (int(ids[end - 1]) + 1 + vocabulary // 2) % vocabulary
    with s.active():
        try:
            a, b = (wrapper(x, *args[1:3], torch.arange(len(ids))) for x in (ids, changed))
        except UnsupportedModel:
            raise
        except Exception:  # noqa: BLE001 - the export says what there is to say
            return
    # Other experts take other rows at once, which sums may show.
    apart = (a - b).abs().amax(-1) > 1e-3 * float(a.abs().nan_to_num(0.0).max())
    if not bool(apart.index_fill(0, torch.tensor([end - 1]), False).any()):
        return
    with s.active():
        mixer = _mixers.find(wrapper.model, s, vocabulary)
    raise UnsupportedModel(_mixes(mixer or type(wrapper.model).__name__))


def _mixes(where: str) -> str:
    return (f"{where}: tokens see others there by what is neither attention nor a causal "
            "convolution of single channels, delta rule or state space model that hk knows (linear "
            "attention of another kind, say); leave such layers out, or import what is around them "
            "with export_module")


def unpadded(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Random tokens without the padding's, which some models count and place otherwise."""
    pad = getattr(model.config.get_text_config(), "pad_token_id", None)
    return ids if pad is None else torch.where(ids == pad, 1 - min(pad, 1), ids)


def _first_position(model: torch.nn.Module, ids: torch.Tensor) -> int:
    """The position that the model gives the first token: not all count from 0."""
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return 0
    expected = model(input_ids=ids, use_cache=False).logits
    if not expected.isfinite().all():
        return 0
    atol = 1e-5 * float(expected.abs().max())
    for first in range(9):
        try:
            made = model(input_ids=ids, use_cache=False,
                         position_ids=torch.arange(ids.shape[1])[None] + first).logits
        except IndexError:
            break
        if torch.allclose(made, expected, rtol=1e-5, atol=atol):
            return first
    raise UnsupportedModel(f"{type(model).__name__} gives the tokens of a sequence positions that "
                           "are not first, first + 1, ... with a first of at most 8; hk's calls "
                           "name the positions")


def _observed(s: Substitution, ids: torch.Tensor, vocabulary: int, context: int) -> None:
    taken = inspect.signature(s.model.forward).parameters

    def run(tokens: torch.Tensor) -> object:
        n = tokens.shape[1]
        s.extents = torch.tensor([n] if s.dense else [0, n], dtype=torch.int32)
        # All rows, said as in the export: a number of them is a special case of some models.
        every = {"logits_to_keep": torch.arange(n)} if "logits_to_keep" in taken else {}
        return s.model(input_ids=tokens, **every)

    before = settings(s.model)
    try:
        s.observe(run, ids, vocabulary, context)
        require_same(s.model, before, ids.shape[1])
    except UnsupportedModel:
        raise
    except Exception as error:
        raise UnsupportedModel(f"the model fails on 6 tokens, before hk has changed it: "
                               f"{type(error).__name__}: {first_lines(error)}") from error


def _names(model: torch.nn.Module, tables: dict[tuple, tuple] | None = None,
           biases: typing.Sequence[torch.Tensor] = ()) -> dict[int, str]:
    """Names of weights by address: the first of tied ones, rotary tables, biases of attention."""
    names: dict[int, str] = {}
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        names.setdefault(tensor.data_ptr(), name)
    for i, (key, (cos, sin)) in enumerate((tables or {}).items()):
        names[cos.data_ptr()] = f"hk.{key[0][0]}.{i}.cos"
        names[sin.data_ptr()] = f"hk.{key[0][0]}.{i}.sin"
    for i, bias in enumerate(biases):
        names.setdefault(bias.data_ptr(), f"hk.attention.{i}.bias")
    return names


def export_module(module: torch.nn.Module, args: torch.Tensor | typing.Sequence[torch.Tensor], *,
                  dynamic_shapes: typing.Any = None, dtype: torch.dtype = torch.float32,
                  context: int = 4096, progress: Progress = lambda _: None) -> Graph:
    """Imports any nn.Module: its forward's tensors are the function's arguments, what it returns
    (a tensor, a tuple, a dict; None is left out) are the results.

    `args` is an example, `dynamic_shapes` what torch.export.export takes: which sizes are dynamic.
    `dtype`: of weights and of arguments that are real. `context`: the longest sequence that a
    check draws. RMS norms are found by probes, scaled_dot_product_attention becomes hk.attention.

    Raises UnsupportedModel, which names the module's line, the operator and what to do.
    """
    _require_dtype(dtype)
    copied = shared_copy(module).eval().float()
    given = tuple((a.to(dtype) if a.is_floating_point() else a).contiguous()
                  for a in as_args(args))
    progress("leaves: probe norms")
    with torch.no_grad():
        norms, refused = _norms.substitute(copied)
        experts = _experts.Experts(copied)
        convert(copied, dtype)
        progress("torch.export")
        replaced = experts.active() if experts.any() else contextlib.nullcontext()
        with _norms.active(norms), replaced:
            program = _exported(copied, given, dynamic_shapes)
        progress("lower to hk")
        signature = Plain(program, given)
        inner = copied.model if isinstance(copied, _perception.Perception) else copied
        lowering = Lowering(program, signature, signature.arguments, _names(inner), {})
        text = lowering.run()
    return _owned(Graph(text, lowering.weights, lowering.arguments, dtype, signature,
                        _notes(refused), 0, context, []), module)


def export(model: torch.nn.Module, signature: str | None = None, *,
           dtype: torch.dtype = torch.float32, context: int | None = None, block: int = 16,
           stored: dict[str, Quantised] | None = None, snapshot: bool = True,
           progress: Progress = lambda _: None) -> Graph:
    """Imports a model of transformers.

    `signature`: "paged" (decoders) or "dense" (encoders); by default what fits the model. One of
    images is a function of `pixel_values`, of the configuration's sizes.
    `dtype`: of weights, activations and caches. `context`: positions that the rotary tables
    cover, by default the configuration's; a token beyond is an error of the caller.
    `block`: tokens of a block of the paged caches. `stored`: weights by parameter that stay
    quantised, as `stored_weights` finds them in a file; their values are those of the
    model. The model itself is left as it was. `snapshot`: whether the graph has tensors of its
    own; else those that need no conversion are the model's memory.

    Raises UnsupportedModel, which names the model's line, the operator and what to do, and
    InvalidArgument.
    """
    _require_asked(model, dtype, context, block)
    if signature is None and _perception.takes_no_ids(model):
        return _of_images(model, dtype, progress)
    kind = signature or default_signature(model)
    if kind not in ("paged", "dense"):
        raise UnsupportedModel(f"no signature '{kind}'; one of paged, dense")
    chosen = Paged(block) if kind == "paged" else Dense()
    context = _context_of(model, context)
    copied = shared_copy(model).eval().float()
    forget_caches(copied)
    with torch.no_grad():
        wrapper, s = _prepare(copied, chosen, context, progress)
        convert(copied, dtype)
        graph = _export(wrapper, s, chosen, context, stored or {}, progress)
    _require_values(model, graph)
    graph.folder = _source.folder_of(model)
    return _owned(graph, model) if snapshot else graph


def _owned(graph: Graph, model: torch.nn.Module) -> Graph:
    """The graph with copies of what is the model's memory."""
    theirs = {p.untyped_storage().data_ptr() for p in model.parameters()}
    graph.tensors = {n: t.clone() if t.untyped_storage().data_ptr() in theirs else t
                     for n, t in graph.tensors.items()}
    return graph


def _require_asked(model: torch.nn.Module, dtype: torch.dtype, context: int | None, block: int
                   ) -> None:
    """Arguments of `export` that nothing can be made of."""
    if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
        raise InvalidArgument(f"model: expected a model of transformers, got "
                              f"{type(model).__name__}; hk.torch.read reads one from a folder, "
                              "hk.torch.export_module imports any other nn.Module")
    _require_dtype(dtype)
    for name, value, most in (("context", context, LONGEST_CONTEXT), ("block", block, 1 << 16)):
        if value is not None and not 1 <= value <= most:
            raise InvalidArgument(f"{name}: expected 1 to {most} tokens, got {value}")
    lost = next((n for n, p in model.named_parameters() if p.is_meta), None)
    if lost is not None:
        raise InvalidArgument(f"model: its weight {lost} is on the device meta and has no values; "
                              "read the model from its files (hk.torch.read, from_pretrained)")


def _require_dtype(dtype: torch.dtype) -> None:
    if dtype not in DTYPES:
        raise InvalidArgument(f"dtype: expected one of {', '.join(map(str, DTYPES))}, got "
                              f"{dtype!r}")


def _require_values(model: torch.nn.Module, graph: Graph) -> None:
    """What a model's files lack is random numbers, with which every check is right."""
    if lost := sorted(_source.absent(model) & {n.removesuffix(BY_TAP) for n in graph.tensors}):
        raise UnsupportedModel(f"the files of the model have no values for {lost[0]} and "
                               f"{len(lost) - 1} other parameters, which it computes with; they are "
                               "incomplete, or config.json is of another model")


def _of_images(model: torch.nn.Module, dtype: torch.dtype, progress: Progress) -> Graph:
    pixels = _perception.example(model)
    graph = export_module(_perception.Perception(model), (pixels,), dtype=dtype, progress=progress,
                          dynamic_shapes=({0: torch.export.Dim("images", min=2)},))
    graph.signature.adapted = _perception.Perception
    _require_values(model, graph)
    return graph


def forget_caches(model: torch.nn.Module) -> None:
    """The model makes no cache of its own: states are hk's, and one for a window cuts keys off."""
    for module in model.modules():
        if hasattr(getattr(module, "config", None), "use_cache"):
            module.config.use_cache = False


def _export(wrapper: _Wrapper, s: Substitution, signature: Paged | Dense, context: int,
            stored: dict[str, Quantised], progress: Progress) -> Graph:
    model = wrapper.model
    vocabulary = model.config.get_text_config().vocab_size
    args, dynamic = signature.examples(vocabulary, model)
    progress("torch.export")
    with s.active():
        # The wrapper takes *args, which is one dynamic argument to torch.export.
        try:
            program = _exported(wrapper, args, (dynamic,))
        except UnsupportedModel as error:
            # What asks for values of data says so itself.
            if "Constraints violated" in str(error) and (
                    mixer := _mixers.find(model, s, vocabulary)):
                raise UnsupportedModel(_mixes(mixer)) from error
            # What is in the place of a mask that is cut out of a larger one has no user.
            if s.written is None or (most := _smallest_limit(error)) is None:
                raise
            program = _exported(wrapper, args, (signature.limited(dynamic, most),))
    progress("lower to hk")
    dtype = next(model.parameters()).dtype
    arguments = signature.arguments(s.layers, element_of(dtype), s.recurrent.states)
    names = _names(model, s.rotary.tables, s.biases)
    lowering = Lowering(program, signature, arguments, names, stored)
    text = lowering.run()
    windows = [max(m.window_left, m.chunk) for m in s.masks.fitted if isinstance(m, Mask)]
    windows = [w for w in windows if w >= 0]
    return Graph(text, lowering.weights, lowering.arguments, dtype, signature,
                 _notes(s.refused_norms), vocabulary, context, windows)


def _exported(module: torch.nn.Module, args: tuple, dynamic: typing.Any
              ) -> torch.export.ExportedProgram:
    """The program of a module, of operators that the lowering knows, as far as there are formulas
    of the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with conversions_that_change(), without_partial_graph():
                program = torch.export.export(module, args, dynamic_shapes=dynamic, strict=False)
        except UnsupportedModel:
            raise
        except Exception as error:
            raise refusal(error) from error
        _require_steps(program)
        try:
            return program.run_decompositions(_decompositions())
        except UnsupportedModel as error:
            raise told(error) from error
        except RuntimeError as error:  # A size of torch's formulas that depends on data.
            raise refusal(error) from error


def _require_steps(program: torch.export.ExportedProgram) -> None:
    """as_strided is looked at before formulas make tensors of other strides than the model's."""
    for node in program.graph.nodes:
        if node.target is torch.ops.aten.as_strided.default:
            x, made = node.args[0].meta["val"], node.meta["val"]
            if x.shape != made.shape or x.stride() != made.stride() or (
                    x.storage_offset() != made.storage_offset()):
                text = steps_text(x.shape, made.shape, made.stride())
                raise UnsupportedModel(f"{where(node)}: {text}")


def _smallest_limit(error: UnsupportedModel) -> int | None:
    """The smallest size at which the model does something else, by torch.export's text."""
    guards = re.findall(r"generated guard (.*)", str(error.__cause__))
    sizes = [int(n) for guard in guards for n in re.findall(r"(?<![\w.])\d{2,}", guard)]
    return min(sizes, default=None)


def _notes(refused: list[str]) -> list[str]:
    return [f"{name}: computes no rms_norm of hk's; left as it is" for name in refused]


@functools.cache
def _decompositions() -> dict:
    """Formulas of the operators that the lowering does not know."""
    known = {op: formula for op, formula in torch.export.default_decompositions().items()
             if not is_lowered(op)}
    return known | FORMULAS
