"""What `hk-run --trace` wrote (docs/trace.md): the times of kernels, and a call as a drawing."""

import collections
import dataclasses
import json
import math
import os
import pathlib

from ..errors import InvalidArgument
from ._html import Markup, element

_WIDTH, _HEIGHT = 1120, 64


@dataclasses.dataclass
class Row:
    """The launches of a kernel in all calls of a trace."""

    launches: int = 0
    microseconds: float = 0.0
    moved: int = 0  # bytes, where the device counts them
    limit: str = ""


@dataclasses.dataclass
class Trace:
    """A run: its launches, and those of the call whose time is the median."""

    device: str
    clock: str
    events: list[dict]

    def calls(self) -> dict[int, list[dict]]:
        made = collections.defaultdict(list)
        for event in self.events:
            made[event["args"]["call"]].append(event)
        return made

    def variants(self) -> set[str]:
        return {event["args"]["variant"] for event in self.events}

    def rows(self) -> dict[str, Row]:
        """By kernel, the longest first."""
        rows: dict[str, Row] = collections.defaultdict(Row)
        for event in self.events:
            row, args = rows[event["name"]], event["args"]
            row.launches += 1
            row.microseconds += event["dur"]
            row.moved += args.get("bytes_read", 0) + args.get("bytes_written", 0)
            row.limit = args.get("limit", "")
        return dict(sorted(rows.items(), key=lambda item: -item[1].microseconds))

    def median_call(self) -> list[dict]:
        calls = sorted(self.calls().values(), key=_length)
        return calls[len(calls) // 2]


def _length(call: list[dict]) -> float:
    return call[-1]["ts"] + call[-1]["dur"] - call[0]["ts"]


def read(path: str | os.PathLike) -> Trace:
    """A file that hk-run --trace wrote."""
    file = os.fspath(path)
    try:
        content = json.loads(pathlib.Path(path).read_text())
        events = [{"name": str(e["name"]), "ts": float(e["ts"]), "dur": float(e["dur"]),
                   "args": {"call": int(e["args"]["call"]), "variant": str(e["args"]["variant"]),
                            **{key: int(e["args"][key]) for key in ("bytes_read", "bytes_written")
                               if key in e["args"]},
                            "limit": str(e["args"].get("limit", ""))}}
                  for e in content["traceEvents"] if e["ph"] == "X" and e["cat"] == "kernel"]
        other = content["otherData"]
        made = Trace(str(other["device"]), str(other["clock"]), events)
    except OSError as error:
        raise InvalidArgument(f"cannot read '{file}': {error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(f"'{file}' is not what hk-run --trace writes: {error!r}") from None
    if not events or not all(math.isfinite(e["ts"]) and e["dur"] >= 0 for e in events):
        raise InvalidArgument(f"'{file}' has no launches, or some without a time")
    return made


def _step(span: float) -> float:
    """A round distance of at most nine ticks."""
    power = 10.0 ** math.floor(math.log10(span / 8 or 1))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 9)


def draw(call: list[dict], colours: dict[str, str]) -> Markup:
    """A call as a bar of its launches over an axis in microseconds."""
    begin, span = call[0]["ts"], _length(call) or 1.0
    scale = _WIDTH / span
    shapes = []
    for event in call:
        x, width = (event["ts"] - begin) * scale, max(event["dur"] * scale, 0.6)
        shapes.append(element("g", element("title", f"{event['name']}\n{event['dur']:.2f} us"),
                              element("rect", x=f"{x:.2f}", y=4, width=f"{width:.2f}", height=34,
                                      rx=min(2.0, width / 4), class_="bar " + colours[event["name"]]),
                              width > 7 * len(event["name"]) and element(
                                  "text", event["name"], x=f"{x + 4:.1f}", y=25, class_="inside")
                              or None))
    step = _step(span)
    for i in range(int(span / step) + 1):
        x = i * step * scale
        shapes.append(element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=40, y2=46, class_="tick"))
        shapes.append(element("text", f"{i * step:g}" + (" us" if i == 0 else ""), x=f"{x + 2:.1f}",
                              y=58, class_="axis"))
    return element("svg", shapes, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", class_="timeline", role="img",
                   aria_label="launches of a call over time")
