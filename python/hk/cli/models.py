"""hk import and hk generate."""

import argparse
import hashlib
import os
import pathlib
import shutil
import sys
import time
import typing

import torch
import transformers

from .. import module, tools
from .. import torch as importer
from ..decoder import Decoder
from ..errors import CheckFailed, Error, InvalidArgument
from ..tensor import Device
from ..torch import _source
from ..torch._converted import convert
from ..torch._places import places
from .progress import Progress

# What its warnings tell of a folder, hk tells as errors and notes.
transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def _import(path: str, output: pathlib.Path, options: argparse.Namespace, progress: Progress,
            targets: typing.Sequence[str]) -> tuple[int, pathlib.Path]:
    """Reads, exports, compiles and checks a model; returns its context, 0 for any, and the
    library."""
    progress(f"read {path}")
    model = _source.read(path)
    if options.command == "generate" and importer.default_signature(model) != "paged":
        raise InvalidArgument(f"'{path}' is a {type(model).__name__}, which generates no text; hk import"
                              " makes a function of it")
    notes: list[str] = []
    stored = None if options.widen_weights else importer.stored_weights(path, model, notes)
    graph = importer.export(model, getattr(options, "signature", None),
                            dtype=DTYPES[options.dtype], context=getattr(options, "context", None),
                            stored=stored, snapshot=False, progress=progress)
    progress(f"write {output}")
    mlir, weights = graph.save(output, copy_weights=getattr(options, "copy_weights", False))
    tables = any(name.endswith(".cos") for name in graph.tensors)
    graph.tensors = {}  # They are in the file; the model may need the room.
    convert(model, graph.dtype)
    progress("compile for the host" if targets == ["host"] else f"compile for {', '.join(targets)}")
    library = tools.compile(mlir, mlir.with_suffix(".so"), targets=targets, weights=weights)
    progress("check against the model")
    try:
        text = _checked(model, graph, library, options)
    except BaseException:
        library.unlink()  # Nobody takes what was not checked for what was.
        raise
    progress.done()
    for line in (*notes, *graph.notes, text):
        print(line, file=sys.stderr)
    limited = tables or hasattr(model.config.get_text_config(), "max_position_embeddings")
    return graph.context if limited else 0, library


def _checked(model: torch.nn.Module, graph: importer.Graph, library: pathlib.Path,
             options: argparse.Namespace) -> str:
    """What the check says; a difference is an error where the caller did not allow it."""
    try:
        return str(importer.check(model, graph, library, threads=options.threads))
    except CheckFailed as error:
        if not getattr(options, "allow_difference", False):
            raise
        return f"ALLOWED: {error}"


def _folder(path: pathlib.Path) -> None:
    """Makes a folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"cannot make the folder '{path}': {error.strerror}") from None


def import_model(options: argparse.Namespace) -> int:
    """hk import. What cannot be written, and options that mean nothing, are told before the work."""
    output = pathlib.Path(options.output)
    _folder(output.parent)
    places(output)
    Device("host", threads=options.threads)
    _import(options.model, output, options, Progress(), ["host"])
    return 0


def _library(options: argparse.Namespace, progress: Progress, target: str
             ) -> tuple[pathlib.Path, int]:
    """The compiled model in hk's cache, made when it is not there, and its context,
    0 for any."""
    source = pathlib.Path(options.model).resolve()
    targets = list(dict.fromkeys(["host", target]))
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    state = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.exists()]
    compiler = tools._paths.tool("hk-compile").stat().st_mtime_ns
    chosen = (options.dtype, options.widen_weights, targets)
    key = hashlib.sha256(repr((str(source), state, chosen, compiler)).encode())
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "hk" / "models" / f"{source.stem}-{options.dtype}-{key.hexdigest()[:12]}"
    if not (folder / "context").exists():
        _fill(folder, options, progress, targets)
    return folder / "model.so", int((folder / "context").read_text())


def _fill(folder: pathlib.Path, options: argparse.Namespace, progress: Progress,
          targets: list[str]) -> None:
    """Imports a model into a folder of the cache. The folder is there when all in it is, so that
    an interrupted import, or two at a time, leave nothing that a call takes for a model."""
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}")
    _folder(scratch)
    try:
        most, _ = _import(options.model, scratch / "model.mlir", options, progress, targets)
        (scratch / "context").write_text(str(most))
        if not (folder / "context").exists():
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
    except OSError as error:
        if not (folder / "context").exists():
            raise Error(f"cannot write '{folder}': {error.strerror}; XDG_CACHE_HOME names the "
                        "folder of hk's cache") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _encode(tokenizer: typing.Any, prompt: str, raw: bool) -> list[int]:
    if raw or not tokenizer.chat_template:
        return list(tokenizer(prompt)["input_ids"])
    text = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False,
                                         add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def stream(decoder: Decoder, ids: list[int], count: int, stop: set[int]
           ) -> typing.Iterator[int]:
    """The greedy tokens behind a prompt, one by one."""
    logits = decoder.prefill([ids])
    for i in range(count):
        token = int(logits[0].argmax())
        if token in stop:
            return
        yield token
        if i + 1 < count:
            logits = decoder.step([token])


def _prompt(options: argparse.Namespace, tokenizer: typing.Any) -> list[int]:
    """The prompt's tokens; those of a model's own template are never none."""
    if options.tokens < 1:
        raise InvalidArgument(f"--tokens must be at least 1, got {options.tokens}")
    ids = _encode(tokenizer, options.prompt, options.raw)
    if not ids:
        raise InvalidArgument(f"--prompt={options.prompt!r} has no tokens, and the model's tokenizer "
                              "begins a text with none; give at least one word")
    return ids


class _Text:
    """Tokens that come one by one, as text. A character may take several of them, and how a token
    reads may depend on the one in front; so what is decoded begins with what was shown last."""

    def __init__(self, tokenizer: typing.Any):
        self.tokens: list[int] = []
        self._tokenizer, self._begin, self._shown = tokenizer, 0, 0

    def _decode(self, end: int) -> str:
        # Tidied, text would change that was shown already.
        return self._tokenizer.decode(self.tokens[self._begin:end], skip_special_tokens=True,
                                      clean_up_tokenization_spaces=False)

    def new(self, ended: bool = False) -> str:
        """What can be shown more; at the end also half characters."""
        text = self._decode(len(self.tokens))
        if text.endswith("\ufffd") and not ended:
            return ""
        more = text[len(self._decode(self._shown)):]
        self._begin, self._shown = self._shown, len(self.tokens)
        return more


def _show(tokenizer: typing.Any, tokens: typing.Iterable[int]) -> tuple[list[int], list[float]]:
    """Writes text while it comes; returns the tokens and when each was there, the start first."""
    text, times = _Text(tokenizer), [time.perf_counter()]
    for token in tokens:
        times.append(time.perf_counter())
        text.tokens.append(token)
        print(text.new(), end="", flush=True)
    print(text.new(ended=True), flush=True)
    return text.tokens, times


def generate(options: argparse.Namespace) -> int:
    """hk generate. What needs no model is looked at before it is imported."""
    progress = Progress()
    tokenizer = _source.read_tokenizer(options.model)
    ids = _prompt(options, tokenizer)
    stop = _source.read_stops(options.model) | {tokenizer.eos_token_id} - {None}
    device = Device(options.device, threads=options.threads)
    if options.target not in (None, device.target):
        raise InvalidArgument(f"--target={options.target} is not the chip of --device={options.device}"
                              f", which is {device.target}; leave --target out")
    library, context = _library(options, progress, device.target)
    progress("load")
    loaded = module.load(library, device)
    progress.done()
    if context and len(ids) + options.tokens > context:
        room = context - len(ids)
        remedy = (f"shorten the prompt, or ask for at most {room} tokens" if room > 0 else
                  f"shorten the prompt to at most {context - options.tokens} tokens"
                  if options.tokens < context else "shorten the prompt, and ask for fewer")
        raise InvalidArgument(f"a prompt of {len(ids)} tokens and --tokens={options.tokens} are "
                              f"more than the model's context of {context}; {remedy}")
    decoder = Decoder(loaded["forward"], 1, len(ids) + options.tokens)
    found, times = _show(tokenizer, stream(decoder, ids, options.tokens, stop))
    if len(times) > 2:
        print(f"prompt {len(ids)} tokens at {len(ids) / (times[1] - times[0]):.1f} tokens/s, then "
              f"{len(found) - 1} at {(len(times) - 2) / (times[-1] - times[1]):.1f} tokens/s "
              f"({options.dtype}, {options.device})", file=sys.stderr)
    return _compare(options, ids, found, stop) if options.compare else 0


def _compare(options: argparse.Namespace, ids: list[int], found: list[int], stop: set[int]) -> int:
    """Whether PyTorch's greedy tokens are the same, and end where hk's do. They are the best of
    the logits: what generation_config.json says of penalties and samples counts for neither."""
    model = convert(_source.read(options.model), DTYPES[options.dtype])
    greedy = transformers.GenerationConfig(
        max_new_tokens=options.tokens, do_sample=False, eos_token_id=sorted(stop) or None,
        pad_token_id=min(stop, default=0), use_cache=True)
    model.generation_config = greedy
    with torch.no_grad():
        expected = model.generate(torch.tensor([ids]), generation_config=greedy,
                                  attention_mask=torch.ones(1, len(ids), dtype=torch.int64))
    expected = expected[0, len(ids):].tolist()
    if expected[-1] in stop:
        expected.pop()
    most = max(len(found), len(expected))
    same = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b),
                min(len(found), len(expected)))
    print(f"PyTorch's greedy tokens: {same} of {most} equal"
          + ("" if same == most else ": DIFFERENT"), file=sys.stderr)
    return 0 if same == most else 1
