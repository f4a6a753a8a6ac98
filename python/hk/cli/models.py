"""hk import and hk generate."""

import argparse
import hashlib
import os
import pathlib
import sys
import time
import typing

import torch
import transformers

from .. import module, tools
from .. import torch as importer
from ..decoder import Decoder
from ..errors import CheckFailed, InvalidArgument
from ..torch import _source
from ..torch._converted import convert
from .progress import Progress

transformers.utils.logging.disable_progress_bar()

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def _import(path: str, output: pathlib.Path, options: argparse.Namespace, progress: Progress,
            targets: typing.Sequence[str]) -> tuple[int, pathlib.Path]:
    """Reads, exports, compiles and checks a model; returns its context, 0 for any, and the
    library."""
    progress(f"read {path}")
    model = _source.read(path)
    notes: list[str] = []
    stored = None if options.widen_weights else importer.stored_weights(path, model, notes)
    graph = importer.export(model, getattr(options, "signature", None),
                            dtype=DTYPES[options.dtype], context=getattr(options, "context", None),
                            stored=stored, snapshot=False, progress=progress)
    progress(f"write {output}")
    output.parent.mkdir(parents=True, exist_ok=True)
    mlir, weights = graph.save(output, copy_weights=getattr(options, "copy_weights", False))
    tables = any(name.endswith(".cos") for name in graph.tensors)
    graph.tensors = {}  # They are in the file; the model may need the room.
    convert(model, graph.dtype)
    progress("compile for the host" if targets == ["host"] else f"compile for {', '.join(targets)}")
    library = tools.compile(mlir, mlir.with_suffix(".so"), targets=targets, weights=weights)
    progress("check against the model")
    try:
        text = str(importer.check(model, graph, library, threads=options.threads))
    except CheckFailed as error:
        if not getattr(options, "allow_difference", False):
            library.unlink()
            raise
        text = f"ALLOWED: {error}"
    progress.done()
    for line in (*notes, *graph.notes, text):
        print(line, file=sys.stderr)
    limited = tables or hasattr(model.config.get_text_config(), "max_position_embeddings")
    return graph.context if limited else 0, library


def import_model(options: argparse.Namespace) -> int:
    """hk import."""
    _import(options.model, pathlib.Path(options.output), options, Progress(), ["host"])
    return 0


def _library(options: argparse.Namespace, progress: Progress) -> tuple[pathlib.Path, int]:
    """The compiled model in hk's cache, made when it is not there, and its context,
    0 for any."""
    source = pathlib.Path(options.model).resolve()
    targets = ["host"] + [options.target] * bool(options.target)
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    state = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.exists()]
    compiler = tools._paths.tool("hk-compile").stat().st_mtime_ns
    chosen = (options.dtype, options.widen_weights, targets)
    key = hashlib.sha256(repr((str(source), state, chosen, compiler)).encode())
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "hk" / "models" / f"{source.stem}-{options.dtype}-{key.hexdigest()[:12]}"
    library = folder / "model.so"
    context = folder / "context"  # Written when the check is done.
    if not context.exists():
        most, _ = _import(options.model, folder / "model.mlir", options, progress, targets)
        context.write_text(str(most))
    return library, int(context.read_text())


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


def generate(options: argparse.Namespace) -> int:
    """hk generate."""
    if options.tokens < 1:
        raise InvalidArgument(f"--tokens must be at least 1, got {options.tokens}")
    progress = Progress()
    tokenizer = _source.read_tokenizer(options.model)
    library, context = _library(options, progress)
    progress("load")
    loaded = module.load(library, options.device, threads=options.threads)
    progress.done()
    ids = _encode(tokenizer, options.prompt, options.raw)
    if context and len(ids) + options.tokens > context:
        raise InvalidArgument(f"a prompt of {len(ids)} tokens and --tokens={options.tokens} are "
                              f"more than the model's context of {context}; shorten the prompt, or ask "
                              f"for at most {max(context - len(ids), 0)} tokens")
    stop = {tokenizer.eos_token_id} - {None}
    decoder = Decoder(loaded["forward"], 1, len(ids) + options.tokens)
    found, shown, times = [], "", [time.perf_counter()]
    for token in stream(decoder, ids, options.tokens, stop):
        times.append(time.perf_counter())
        found.append(token)
        text = tokenizer.decode(found, skip_special_tokens=True)
        if not text.endswith("\ufffd"):  # A character may take several tokens.
            print(text[len(shown):], end="", flush=True)
            shown = text
    print()
    if len(times) > 2:
        print(f"prompt {len(ids)} tokens at {len(ids) / (times[1] - times[0]):.1f} tokens/s, then "
              f"{len(found) - 1} at {(len(times) - 2) / (times[-1] - times[1]):.1f} tokens/s "
              f"({options.dtype}, {options.device})", file=sys.stderr)
    return _compare(options, ids, found) if options.compare else 0


def _compare(options: argparse.Namespace, ids: list[int], found: list[int]) -> int:
    """Whether PyTorch's greedy tokens are the same."""
    model = convert(_source.read(options.model), DTYPES[options.dtype])
    with torch.no_grad():
        expected = model.generate(torch.tensor([ids]), max_new_tokens=len(found), do_sample=False,
                                  attention_mask=torch.ones(1, len(ids), dtype=torch.int64))
    expected = expected[0, len(ids):].tolist()
    same = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b),
                len(found))
    print(f"PyTorch's greedy tokens: {same} of {len(found)} equal"
          + ("" if same == len(found) else ": DIFFERENT"), file=sys.stderr)
    return 0 if same == len(found) else 1
