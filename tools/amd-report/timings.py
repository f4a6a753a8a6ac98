"""Times calls with hk-run --times, and compares them with what the model predicted."""

import json
import tempfile
import time

import clocks
from checks import message
from private import scrub


def measure(device, entry, module, options, pci, deadline):
    """One call in a process of its own; the entry of the report."""
    found = {"module": module, "function": entry["function"], "call": " ".join(entry["options"])}
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        command = device.command(module, *entry["options"], f"--bench={options.iterations}",
                                 f"--times={file.name}", *([f"--cold={options.cold}"] if options.cold else []))
        with clocks.Sampler(pci) as sampler:
            # It says nothing until all calls are made, and the inputs of large ones take time.
            child = device.start(command, deadline, patience=3)
            lines = list(child.lines())
        line = file.readline()
    if child.ended != "exit status 0":
        return dict(found, status="out of time" if child.ended == "out of time" else "fault", ended=child.ended,
                    message=message(lines))
    times = json.loads(line)
    for kernel in times["kernels"]:
        kernel["ops"] = scrub(kernel["ops"])
    return dict(found, status="ok", kernels=times["kernels"], call_us=times["call_us"], clocks=sampler.summary())


def total(kernels, key, part):
    """Microseconds of all launches of a call; None if a kernel lacks the time."""
    if not kernels or any(key not in kernel for kernel in kernels):
        return None
    return sum(kernel["launches"] * kernel[key][part] for kernel in kernels)


def compare(found, entry, product):
    """Adds the modelled time of the same kernels. The model knows cold inputs: it is compared
    with the median of cold calls, per kernel that both name."""
    predicted = {kernel["variant"]: kernel for kernel in entry["predicted"].get(product, [])}
    if not predicted or found["status"] != "ok":
        return found
    for kernel in found["kernels"]:
        modelled = predicted.get(kernel["variant"])
        measured = kernel.get("cold_us", kernel.get("warm_us"))
        if modelled is None or measured is None:
            continue
        kernel["modelled"] = {key: modelled[key] for key in ("clocks", "class", "relative_error", "limit")}
        for key in ("burst_us", "sustained_us"):
            kernel["modelled"][key] = modelled[key] / modelled["launches"]
        burst = kernel["modelled"]["burst_us"]
        kernel["modelled"]["ratio"] = burst / measured["median"] if measured["median"] else None
    return found


def model_score(timings):
    """How the model did, by class: median of |modelled / measured - 1| and how many kernels lie
    within the error that the class states."""
    classes = {}
    for found in timings:
        for kernel in found.get("kernels", []):
            modelled = kernel.get("modelled")
            if modelled and modelled["ratio"]:
                classes.setdefault(modelled["class"], []).append((abs(modelled["ratio"] - 1), modelled["relative_error"]))
    score = {}
    for name, errors in sorted(classes.items()):
        values = sorted(error for error, _ in errors)
        score[name] = {"kernels": len(values), "median_error": values[len(values) // 2],
                       "stated_error": errors[0][1], "within": sum(error <= stated for error, stated in errors)}
    return score


def measure_all(device, entries, options, pci, product, deadline):
    """`entries`: (module, entry of the manifest). Yields those that there was time for."""
    for module, entry in entries:
        if time.monotonic() >= deadline:
            return
        found = measure(device, entry, module, options, pci, deadline)
        if found["status"] == "fault":
            device.require_health()
        if found["status"] != "out of time":
            yield entry, compare(found, entry, product)
