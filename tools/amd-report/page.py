"""The report as one HTML file without anything from elsewhere: inline CSS and SVG."""

import html as markup
import math

STYLE = """
:root{--ink:#1a2230;--soft:#5b6678;--line:#d9dee7;--page:#fbfcfe;--card:#fff;--ok:#1b7f4d;--bad:#b3261e;--odd:#a15c00}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf2;--soft:#9aa5b8;--line:#2c3442;--page:#11151c;--card:#181d26;
--ok:#56c08c;--bad:#ff8a80;--odd:#f0b35a}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:68rem;margin:auto;padding:2.5rem 1.25rem 4rem}h1{font-size:1.7rem;margin:0}h2{font-size:1.15rem;
margin:2.5rem 0 .6rem}p{margin:.4rem 0}.soft{color:var(--soft)}.ok{color:var(--ok)}.bad{color:var(--bad)}
.odd{color:var(--odd)}.note{border-left:3px solid var(--odd);padding:.5rem .9rem;background:var(--card);margin:1rem 0}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.4rem 0}.tile{background:var(--card);border:1px solid var(--line);
border-radius:8px;padding:.7rem 1rem;min-width:8rem}.tile b{display:block;font-size:1.5rem;line-height:1.2}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .7rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--soft);white-space:nowrap}td.n,th.n{text-align:right}code,pre{font:13px/1.45 ui-monospace,
monospace}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0}details{margin:.3rem 0}summary{cursor:pointer}
svg{max-width:100%;height:auto;display:block}svg text{fill:var(--soft);font:12px system-ui,sans-serif}
"""


def text(value):
    return markup.escape("-" if value is None else str(value))


def tag(name, content, **attributes):
    words = "".join(f' {key.rstrip("_")}="{markup.escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{words}>{content}</{name}>"


def table(heads, rows, numeric=()):
    """`rows`: lists of cells, HTML already; columns in `numeric` are numbers."""
    def row(cells, name):
        return tag("tr", "".join(tag(name, c, **({"class_": "n"} if i in numeric else {})) for i, c in enumerate(cells)))
    return tag("div", tag("table", row(map(text, heads), "th") + "".join(row(r, "td") for r in rows)), class_="scroll")


def us(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


STATUS = {"ok": "ok", "wrong": "bad", "fault": "bad", "fault once": "odd"}


def tiles(report):
    counts = report["counts"]
    shown = [("calls passed", counts.get("ok", 0), "ok"), ("outside of their bounds", counts.get("wrong", 0), "bad"),
             ("faults", counts.get("fault", 0), "bad"), ("faults that did not repeat", counts.get("fault once", 0), "odd"),
             ("calls not made", report["expected_calls"] - sum(counts.values()), "odd")]
    return tag("div", "".join(tag("div", tag("b", n, class_=c if n else "soft") + label, class_="tile")
                              for label, n, c in shown), class_="tiles")


def device_line(report):
    device, hip = report["machine"]["device"], report["machine"]["hip"]
    if not device["name"]:
        return "no device"
    return (f"{text(device['name'])}, {text(device['chip'])}, {text(device['compute_units'])} compute units, "
            f"{text(device['memory_gib'])} GiB; HIP {text(hip['runtime'])} ({text(hip['library'])})")


def notes(report):
    found = []
    if report["machine"]["device"]["emulated"]:
        found.append("This ran in hk's emulator, not on a chip. Verdicts count; every time below is that of the emulator "
                     "on a host and means nothing.")
    if report["lost"]:
        found.append(f"The device was lost during {text(report['lost']['during'])}: {text(report['lost']['why'])}. "
                     "Nothing was tried after that.")
    found += [f"<b>Missing:</b> {text(m['what'])}<br>{text(m['how'])}" for m in report["missing"]]
    return "".join(tag("div", note, class_="note") for note in found)


def modules(report):
    rows = []
    for name, module in report["modules"].items():
        counts = {}
        for entry in module["entries"]:
            counts[entry["status"]] = counts.get(entry["status"], 0) + 1
        worst = next((s for s in ("fault", "wrong", "fault once", "ok") if s in counts), "not run")
        rows.append([tag("code", text(name)), tag("span", text(worst), class_=STATUS.get(worst, "soft")),
                     *(text(counts.get(s, 0)) for s in STATUS)])
    return tag("h2", "Modules") + table(["module", "verdict", *STATUS], rows, numeric=range(2, 6)) if rows else ""


def findings(report):
    found = [(name, e) for name, m in report["modules"].items() for e in m["entries"] if e["status"] != "ok"]
    found += [(t["module"], t) for t in report["timings"] + report["functions"] if t["status"] == "fault"]
    if not found:
        return ""
    parts = []
    for name, e in found:
        title = f"{text(e['status'])}: {text(name)} <code>{text(e['call'])}</code>"
        body = "".join(tag("p", f"{label}: {text(e[key])}") for key, label in (("ended", "ended"), ("again", "repeated alone"))
                       if key in e)
        parts.append(tag("details", tag("summary", title) + body + tag("pre", text(e.get("message", "")))))
    return tag("h2", "What did not pass") + "".join(parts)


def call_times(entry, key, part="median"):
    kernels = entry.get("kernels", [])
    if not kernels or any(key not in k for k in kernels):
        return None
    return sum(k["launches"] * k[key][part] for k in kernels)


def rate(entry, microseconds):
    if not microseconds:
        return "-"
    if entry.get("flops") and entry["flops"] > 100 * entry.get("bytes", 0):
        return f"{entry['flops'] / microseconds * 1e-6:,.0f} TFLOP/s"
    return f"{entry['bytes'] / microseconds * 1e-6:.2f} TB/s" if entry.get("bytes") else "-"


def modelled_cell(entry):
    """The sum over kernels, if the model knows them all."""
    models = [(k["launches"], k["modelled"]) for k in entry.get("kernels", []) if "modelled" in k]
    if not models or len(models) < len(entry["kernels"]):
        return "-"
    total = sum(n * m["burst_us"] for n, m in models)
    error = max(m["relative_error"] for _, m in models)
    return f"{us(total)} <span class=soft>&plusmn;{100 * error:.0f} %</span>"


def clock_cell(entry):
    clock = (entry.get("clocks") or {}).get("clock_mhz")
    return f"{clock['median']:.0f}" if clock else "-"


def sized(report):
    rows = [e for e in report["timings"] if e["status"] == "ok"]
    if not rows:
        return ""
    libraries = [name for name, peer in report["peers"].items() if not peer["absent"]]
    heads = ["what", "cold us", "rate", "warm us", "modelled us, cold", "MHz", *(f"{n}, cold us" for n in libraries)]
    cells = []
    for e in rows:
        cold, warm = call_times(e, "cold_us"), call_times(e, "warm_us")
        others = [report["peers"][n]["cases"].get(e["function"], {}).get("cold_us", {}).get("median") for n in libraries]
        cells.append([tag("code", text(e["function"])), us(cold), rate(e, cold or warm), us(warm), modelled_cell(e),
                      clock_cell(e), *map(us, others)])
    absent = [f"{n}: {p['absent']}" for n, p in report["peers"].items() if p["absent"]]
    absent += [f"{n}, {case}: {row['absent']}" for n, p in report["peers"].items() for case, row in p["cases"].items()
               if "absent" in row]
    absent += [f"{n}: {p['ended']}" for n, p in report["peers"].items() if p["ended"]]
    return (tag("h2", "Times at the sizes of a model") +
            tag("p", "Medians, by events. Cold: every call has its own arguments, which no cache holds. Modelled times "
                     "are no measurements.", class_="soft") + table(heads, cells, numeric=range(1, len(heads))) +
            "".join(tag("p", f"not there: {text(a)}", class_="soft") for a in absent))


def points(report):
    """(measured, modelled, class) of every kernel with both."""
    return [(k["modelled"]["burst_us"] / k["modelled"]["ratio"], k["modelled"]["burst_us"], k["modelled"]["class"])
            for e in report["timings"] + report["functions"] for k in e.get("kernels", [])
            if k.get("modelled") and k["modelled"]["ratio"]]


COLOURS = {"compute": "#4c78a8", "memory": "#54a24b", "cache": "#b279a2", "launch": "#9aa5b8"}


def scatter(found):
    """Measured against modelled, both axes logarithmic."""
    low = math.floor(math.log10(min(min(m, p) for m, p, _ in found)))
    high = max(low + 1, math.ceil(math.log10(max(max(m, p) for m, p, _ in found))))
    left, top, size = 60, 15, 380

    def at(value):
        return (math.log10(value) - low) / (high - low) * size

    parts = [f'<line x1="{left}" y1="{top + size}" x2="{left + size}" y2="{top}" stroke="currentColor" opacity=".4"/>']
    for power in range(low, high + 1):
        x, y, label = left + at(10.0**power), top + size - at(10.0**power), f"{10.0**power:g}"
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + size}" stroke="currentColor" opacity=".1"/>'
                     f'<line x1="{left}" y1="{y:.1f}" x2="{left + size}" y2="{y:.1f}" stroke="currentColor" opacity=".1"/>'
                     f'<text x="{x:.1f}" y="{top + size + 18}" text-anchor="middle">{label}</text>'
                     f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for measured, predicted, kind in found:
        parts.append(f'<circle cx="{left + at(measured):.1f}" cy="{top + size - at(predicted):.1f}" r="3.5" '
                     f'fill="{COLOURS.get(kind, "#888")}" opacity=".75"><title>{text(kind)}: {us(measured)} us measured, '
                     f'{us(predicted)} us modelled</title></circle>')
    for number, (kind, colour) in enumerate(COLOURS.items()):
        y = top + 12 + 20 * number
        parts.append(f'<circle cx="{left + size + 25}" cy="{y}" r="5" fill="{colour}"/>'
                     f'<text x="{left + size + 37}" y="{y + 4}">{kind}</text>')
    parts.append(f'<text x="{left + size / 2}" y="{top + size + 40}" text-anchor="middle">measured us, cold</text>'
                 f'<text x="14" y="{top + size / 2}" text-anchor="middle" '
                 f'transform="rotate(-90 14 {top + size / 2})">modelled us</text>')
    return (f'<svg viewBox="0 0 {left + size + 130} {top + size + 50}" width="{left + size + 130}" role="img" '
            f'aria-label="Modelled against measured times">{"".join(parts)}</svg>')


def model(report):
    found = points(report)
    if not found:
        return ""
    rows = [[text(name), text(s["kernels"]), f"{100 * s['median_error']:.0f} %", f"{100 * s['stated_error']:.0f} %",
             f"{s['within']} of {s['kernels']}"] for name, s in report["model"].items()]
    return (tag("h2", "The timing model against this device") +
            table(["class", "kernels", "median error", "error it states", "within"], rows, numeric=range(1, 5)) +
            scatter(found))


def functions(report):
    rows = [[tag("code", text(f"{e['module']} {e['function']}")), us(call_times(e, "cold_us")), us(call_times(e, "warm_us")),
             us(sum(k["launches"] * k.get("first_us", 0) for k in e["kernels"])), modelled_cell(e), clock_cell(e)]
            for e in report["functions"] if e["status"] == "ok"]
    if not rows:
        return ""
    body = table(["function", "cold us", "warm us", "first us", "modelled us, cold", "MHz"], rows, numeric=range(1, 6))
    return tag("h2", "Times of the modules' functions") + tag(
        "p", "At the sizes of the tests, which are small: most are shorter than a launch is certain.", class_="soft") + tag(
        "details", tag("summary", f"{len(rows)} functions") + body)


def facts(report):
    m = report["machine"]
    rows = [[text(k), text(m[k])] for k in ("system", "kernel", "machine", "libc", "python", "processor", "threads",
                                            "memory_gib", "amdgpu", "rocm", "kfd")]
    rows += [[text(f"HIP {k}"), text(v)] for k, v in m["hip"].items()]
    rows += [[text(f"device {k}"), text(", ".join(v) or "nothing" if k == "readable" else v)] for k, v in m["device"].items()]
    rows += [[text(f"package {k}"), text(v or "not installed")] for k, v in m["packages"].items()]
    return tag("h2", "Machine") + tag("details", tag("summary", "what was found") + table(["fact", "value"], rows))


def remarks(report):
    return tag("h2", "Remarks") + "".join(tag("pre", text(r)) for r in report["remarks"]) if report["remarks"] else ""


def not_run(report):
    rows = [[text(e["what"]), text(e["why"])] for e in report["not_run"]]
    return tag("h2", "Not run") + table(["what", "why"], rows) if rows else ""


def html(report):
    colour = {"all passed": "ok", "faults": "bad"}.get(report["verdict"], "odd")
    head = (tag("h1", f"hk on {device_line(report)}") +
            tag("p", f"{text(report['date'])}, hk {text(report['hk'])}, {report['seconds']:.0f} s of "
                     f"{text(report['minutes'])} minutes: " + tag("b", text(report["verdict"]), class_=colour)) +
            tag("p", "Every call was compared with hk's reference interpreter, each element with the bound derived for it. "
                     "When this bundle was made, nothing of hk had run on AMD silicon.", class_="soft"))
    body = "".join(part(report) for part in (notes, tiles, findings, sized, model, modules, functions, remarks, not_run,
                                          facts))
    return (f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>hk on {text(report['machine']['device']['name'])}</title><style>{STYLE}</style></head>"
            f"<body><main>{head}{body}</main></body></html>\n")
