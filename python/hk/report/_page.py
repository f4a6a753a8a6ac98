"""The page: for each target a summary, the launches of every function with layers folded, a
call over time, and every decision."""

import importlib.resources
import re
import typing

from . import _explain, _trace
from ._explain import Finding, Target
from ._html import Markup, element

_FAMILIES = {"rowwise", "gemm", "attention", "joint", "routing", "scan", "conv1d", "gated_delta"}
_KINDS = {"near": "Near misses", "done": "What was fused",
          "never": "What no change of the model removes"}


def _colour(kernel: dict | None) -> str:
    family = kernel["family"] if kernel else ""
    return f"f-{family if family in _FAMILIES else 'other'}"


def _meter(share: float, label: str | None = None) -> Markup:
    return element("div", element("i", style=f"width:{100 * min(max(share, 0.0), 1.0):.1f}%"),
                   class_="meter", title=label)


def _finding(finding: Finding) -> Markup:
    head = {"done": "fused"}.get(finding.kind, finding.reason)
    where = [_explain.place(one) for one in finding.places[0] if one]
    more = len(finding.places) - 1
    return element(
        "li", element("span", head, class_="reason"), " ", element("b", finding.subject), " / ",
        finding.what, finding.detail and ": " + finding.detail,
        finding.saved and f" (saves {finding.saved})",
        element("div", element("code", " ← ".join(where)),
                more and f" and {more} more place{'s' * (more > 1)}" or None, class_="soft"),
        finding.advice and element("div", "→ ", finding.advice, class_="advice") or None,
        class_=finding.kind)


def _findings(findings: list[Finding], level: str) -> list[Markup]:
    made = []
    for kind, title in _KINDS.items():
        own = [f for f in findings if f.kind == kind]
        if not own:
            continue
        listed = element("ul", [_finding(f) for f in own], class_="findings")
        if kind == "never":
            made.append(element("details", element("summary", f"{title} ({len(own)})"), listed,
                                class_="more"))
        else:
            made += [element(level, title), listed]
    return made


class Page:
    """The section of one target."""

    def __init__(self, target: Target, index: int, trace: _trace.Trace | None):
        self.target, self.index, self.trace = target, index, trace
        self.rows = trace.rows() if trace else {}
        self.calls = len(trace.calls()) if trace else 1
        self.shown: set[str] = set()

    def anchor(self, kernel: str) -> str:
        return f"t{self.index}-" + re.sub(r"[^A-Za-z0-9]",
                                          lambda match: f"_{ord(match[0]):x}_", kernel)

    def link(self, kernel: str) -> Markup | str:
        """To its box; a trace may be of other kernels, too."""
        if kernel not in self.target.kernels:
            return kernel
        return element("a", kernel, href="#" + self.anchor(kernel))

    def section(self) -> Markup:
        functions = [self.function(function) for function in self.target.record["functions"]]
        return element("section", element("h2", self.target.name, id=f"t{self.index}"),
                       self.summary(), self.timeline(), functions,
                       element("h3", "Decisions"), _findings(self.target.findings, "h3"))

    def summary(self) -> Markup:
        record = self.target.record
        launches = sum(function["launches"] for function in record["functions"])
        cards = [(record["base_operators"], "base operators", ""), (launches, "launches", ""),
                 (len(record["kernels"]), "distinct kernels", ""),
                 (_explain.size(record["lds_limit"]), "LDS of a workgroup", ""),
                 (self.target.count("near"), "near misses (places)", "near")]
        if self.trace:
            total = sum(row.microseconds for row in self.rows.values()) / self.calls
            cards.append((f"{total:.1f} us", f"of kernels in a call, {self.trace.clock}", ""))
        return element("div", [element("div", element("b", value),
                                       element("span", label, class_="soft"),
                                       class_=f"card {kind}") for value, label, kind in cards],
                       class_="cards")

    def timeline(self) -> Markup | None:
        if not self.trace:
            return None
        colours = {name: _colour(self.target.kernels.get(name)) for name in self.rows}
        total = sum(row.microseconds for row in self.rows.values()) or 1.0
        head = element("tr", [element("th", name, class_=kind) for name, kind in (
            ("kernel", ""), ("launches a call", "n"), ("us each", "n"), ("us a call", "n"),
            ("share", ""), ("bytes moved a call", "n"), ("limit", ""))])
        body = [element("tr", element("td", self.link(name)),
                        element("td", f"{row.launches / self.calls:g}", class_="n"),
                        element("td", f"{row.microseconds / row.launches:.2f}", class_="n"),
                        element("td", f"{row.microseconds / self.calls:.1f}", class_="n"),
                        element("td", _meter(row.microseconds / total,
                                             f"{100 * row.microseconds / total:.1f} %"),
                                class_=colours[name]),
                        element("td", _explain.size(row.moved / self.calls) if row.moved else "–",
                                class_="n"),
                        element("td", row.limit or "–")) for name, row in self.rows.items()]
        return element("div", element("h3", "A call over time"),
                       element("p", f"{self.trace.device}, {self.trace.clock}; the median of "
                               f"{self.calls} call{'s' * (self.calls > 1)}. Hover for names.",
                               class_="soft"),
                       _trace.draw(self.trace.median_call(), colours), element("table", head, body))

    def function(self, function: dict) -> Markup:
        made = [element("h3", f"@{function['name']}: {function['launches']} launches"),
                element("div", self.steps(function["folded"]), class_="flow")]
        for version in function["versions"]:
            made += [element("h4", f"@{function['name']} with {version['dim']} at most "
                             f"{version['at_most']}: {version['launches']} launches"),
                     element("div", self.steps(version["folded"]), class_="flow")]
        return element("div", made)

    def steps(self, steps: list) -> list[Markup]:
        made = []
        for step in steps:
            if isinstance(step, str):
                made.append(self.kernel(step))
            else:
                made.append(element(
                    "div", element("p", f"{step['times']} ×", class_="times"),
                    element("div", self.steps(step["body"]), class_="flow"), class_="repeat"))
        return made

    def kernel(self, name: str) -> Markup:
        kernel = self.target.kernels[name]
        colour = _colour(kernel)
        head = element("span", element("b", name), element("span", kernel["family"], class_="family"),
                       class_="name")
        if name in self.shown:
            return element("a", head, class_=f"kernel {colour}", href="#" + self.anchor(name))
        self.shown.add(name)
        limit, used = self.target.record["lds_limit"], max(
            (variant["lds_bytes"] for variant in kernel["variants"]), default=0)
        near = sum(f.kind == "near" for f in self.target.of_kernel[name])
        row = self.rows.get(name)
        facts = [f"LDS {_explain.size(used)} of {_explain.size(limit)}"]
        if row:
            facts.append(f"{row.microseconds / row.launches:.2f} us")
        summary = element(
            "summary", head,
            element("div", [element("span", op, class_="chip on")
                            for op in kernel["ops"].split(",")], class_="chips"),
            _meter(used / limit if limit else 0.0, facts[0]),
            element("div", " · ".join(facts), " ", near and element(
                "span", f"{near} near miss{'es' * (near > 1)}", class_="badge") or None,
                class_="facts"),
            element("div", f"in {_explain.operands(kernel['inputs'])} → out "
                    f"{_explain.operands(kernel['outputs'])}", class_="facts"))
        return element("details", summary, self.inner(kernel), id=self.anchor(name),
                       class_=f"kernel {colour}")

    def inner(self, kernel: dict) -> Markup:
        tiles = [element("li", element("code", variant["tile"]), f" LDS {variant['lds_bytes']} bytes, "
                         f"{variant['threads']} threads") for variant in kernel["variants"]]
        sources = [element("tr", element("td", source["op"]),
                           element("td", element("code", _explain.place(source["location"]))))
                   for source in kernel["sources"]]
        tensors = [element("tr", element("td", role), element("td", element("code", _shape(tensor))),
                           element("td", _explain.operands([tensor]), class_="n"))
                   for role, key in (("in", "inputs"), ("out", "outputs")) for tensor in kernel[key]]
        return element(
            "div", element("h4", "Operators, of the first launch"), element("table", sources),
            element("h4", f"Operands: in {_explain.operands(kernel['inputs'])}, out "
                    f"{_explain.operands(kernel['outputs'])}"), element("table", tensors),
            element("h4", "Tiles"), element("ul", tiles),
            _findings(self.target.of_kernel[kernel["name"]], "h4"), class_="inner")


def _shape(tensor: dict) -> str:
    return "×".join(str(size) for size in [*tensor["shape"], tensor["dtype"]])


def page(title: str, targets: list[Target], trace: _trace.Trace | None) -> str:
    """The whole document."""
    style = Markup(importlib.resources.files(__package__).joinpath("style.css").read_text())
    traced = _traced(targets, trace)
    sections = [Page(target, i, trace if i == traced else None).section()
                for i, target in enumerate(targets)]
    links: typing.Any = element("nav", [element("a", target.name, href=f"#t{i}")
                                        for i, target in enumerate(targets)])
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element("head", element("meta", charset="utf-8"),
                   element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                   element("meta", http_equiv="Content-Security-Policy", content=policy),
                   element("title", f"hk report: {title}"), element("style", style))
    body = element("body", element("h1", title), element(
        "p", "How hk compiles this model: every box is a launch, a click opens it.", class_="soft"),
        len(targets) > 1 and links or None, sections)
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def _traced(targets: list[Target], trace: _trace.Trace | None) -> int | None:
    """The target that a trace was made of: the one whose kernels ran."""
    if trace is None:
        return None
    ran = trace.variants()
    counts = [len(ran & {v["symbol"] for k in t.record["kernels"] for v in k["variants"]})
              for t in targets]
    if not max(counts):
        raise _explain.InvalidArgument(
            "no kernel of the trace is one of the explained module's: explain and run the same "
            "model, for the same targets and with the same hk-compile")
    return counts.index(max(counts))
