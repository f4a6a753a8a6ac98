"""What `hk-compile --explain=json` wrote (docs/explain.md), checked and grouped for a page."""

import collections
import dataclasses
import json
import os
import pathlib
import typing

from ..errors import InvalidArgument

_VERSION = 1


@dataclasses.dataclass
class Finding:
    """A decision, once for all the places where it was taken."""

    kind: str  # "near": a change of the model may remove it; "done"; "never"
    reason: str
    subject: str
    what: str
    detail: str
    advice: str
    saved: str
    places: list[tuple[str, str]]  # of the operator and of its partner


@dataclasses.dataclass
class Target:
    """The explanation of a module for one target."""

    record: dict
    findings: list[Finding]
    kernels: dict[str, dict]
    of_kernel: dict[str, list[Finding]]

    @property
    def name(self) -> str:
        return self.record["target"]

    def count(self, kind: str) -> int:
        """Places of findings of a kind."""
        return sum(len(f.places) for f in self.findings if f.kind == kind)


def _values(file: str, content: str) -> list:
    """The JSON values of a file, one behind the other."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while content[at:].strip():
        at += len(content[at:]) - len(content[at:].lstrip())
        try:
            value, at = decoder.raw_decode(content, at)
        except json.JSONDecodeError as error:
            raise InvalidArgument(f"'{file}' is not what hk-compile --explain=json writes: "
                                  f"{error}; the name of a model ends with .mlir") from None
        values.append(value)
    return values


def read(path: str | os.PathLike) -> list[Target]:
    """The targets of a file that hk-compile --explain=json wrote."""
    file = os.fspath(path)
    try:
        content = pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"cannot read '{file}': {error}") from None
    return parse(content, file)


def parse(content: str, file: str = "text") -> list[Target]:
    """The targets of what hk-compile --explain=json wrote."""
    values = _values(file, content)
    if not values:
        raise InvalidArgument(f"'{file}' is empty, expected what hk-compile --explain=json writes")
    targets = []
    for value in values:
        version = value.get("version") if isinstance(value, dict) else None
        if version != _VERSION:
            raise InvalidArgument(f"'{file}': expected an explanation of version {_VERSION}, got "
                                  f"{version}; write it with the hk-compile of this hk")
        try:
            targets.append(_target(value))
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidArgument(f"'{file}': the explanation lacks a field or has one of another "
                                  f"type ({error!r}); write it with the hk-compile of this hk"
                                  ) from None
    return targets


def _saved(candidate: dict) -> str:
    if not candidate.get("saved_bytes"):
        return ""
    return size(candidate["saved_bytes"]) + (" × dynamic sizes"
                                             if candidate.get("per_dynamic_size") else "")


def _candidates(decision: dict) -> typing.Iterator[tuple[str, dict, str]]:
    """What is to be said of a decision: kind, candidate, sentence."""
    chosen = decision["chosen"]
    if decision["kind"] == "plan" and chosen > 0:
        taken, whole = decision["candidates"][chosen], decision["candidates"][0]
        yield "done", taken, (f"split: {taken['microseconds']:.1f} us modelled instead of "
                              f"{whole['microseconds']:.1f}")
    for candidate in decision["candidates"]:
        if candidate["reason"] != "accepted":
            yield ("near" if candidate.get("advice") else "never"), candidate, candidate["detail"]
        elif candidate.get("why"):
            yield "done", candidate, candidate["why"]


def _target(record: dict) -> Target:
    kernels = {kernel["name"]: kernel for kernel in record["kernels"]}
    owners = collections.defaultdict(list)
    for kernel in record["kernels"]:
        for source in kernel["sources"]:
            owners[source["location"]].append(kernel["name"])
    found: dict[tuple, Finding] = {}
    of_kernel: dict[str, list[Finding]] = {name: [] for name in kernels}
    for decision in record["decisions"]:
        for kind, candidate, sentence in _candidates(decision):
            key = (kind, candidate["reason"], decision["subject"], candidate["what"], sentence,
                   candidate.get("advice", ""), _saved(candidate))
            finding = found.setdefault(key, Finding(*key, []))
            finding.places.append((decision["location"], candidate.get("partner", "")))
            for owner in owners[decision["location"]]:
                if finding not in of_kernel[owner]:
                    of_kernel[owner].append(finding)
    for function in record["functions"]:
        for order in (function["order"], *(v["order"] for v in function["versions"])):
            for name in order:
                if name not in kernels:
                    raise KeyError(f"kernel {name}")
    order = ("near", "done", "never")
    findings = sorted(found.values(), key=lambda f: (
        order.index(f.kind), -len(f.places) if f.kind == "near" else 0))
    return Target(record, findings, kernels, of_kernel)


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def operands(tensors: list[dict]) -> str:
    """The bytes of a kernel's operands: "32.0 KiB + 512 B × d0"."""
    sums: dict[str, int] = {}
    for tensor in tensors:
        symbols = " × ".join(s for s in tensor["shape"] if isinstance(s, str))
        sums[symbols] = sums.get(symbols, 0) + tensor["bytes"]
    return " + ".join(size(total) + (f" × {symbols}" if symbols else "")
                      for symbols, total in sorted(sums.items())) or "nothing"


def place(location: str) -> str:
    """`"/a/b.mlir":4:8` as "b.mlir:4:8"."""
    file, quote, rest = location.rpartition('"')
    return pathlib.PurePath(file.strip('"')).name + rest if quote else location
