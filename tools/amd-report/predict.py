"""Modelled times, made where the bundle is made: each timed call runs in the emulator for every
product that it knows (docs/emulator.md, Timing). What it says is "modelled", with the error of
its class, and never a measurement.
"""

import json
import os
import pathlib
import tempfile
import time

import children

# Product -> its target, and what the driver calls it. An MI300A has other memory.
PRODUCTS = {"mi300x": ("gfx942", "MI300X"), "mi325x": ("gfx942", "MI325X"), "mi355x": ("gfx950", "MI355X")}
MOST_SECONDS = 900
KEPT = ("clocks", "burst_us", "sustained_us", "class", "relative_error", "limit")


def product_of(device_name):
    """The product that a device's name says, or None."""
    return next((product for product, (_, mark) in PRODUCTS.items() if mark in (device_name or "").upper()), None)


def predict(build, module, options, product, sample):
    """Kernels of the call in order, of each the sum over its launches; None when the emulator
    cannot say. `sample`: run only the workgroups that the model looks at, which leaves results
    incomplete: a kernel that reads those of another may be refused."""
    with tempfile.TemporaryDirectory(prefix="hk-predict-") as folder:
        lines = pathlib.Path(folder) / "timing"
        environment = dict(os.environ, HK_EMU_CHIP=product, HK_EMU_TIMING=str(lines),
                           HK_HIP_LIBRARY=str(build / "lib" / "libhk_emu.so"))
        environment["HK_EMU_TIMING_SAMPLE"] = "1" if sample else "0"
        command = [build / "bin" / "hk-run", module, "--device=hip:0", *options]
        _, ended = children.output(command, environment, MOST_SECONDS, time.monotonic() + MOST_SECONDS)
        if ended != "exit status 0" or not lines.exists():
            return None
        launches = [json.loads(line) for line in lines.read_text().splitlines()]
    kernels = {}
    for launch in launches:
        if "error" in launch:
            return None
        kernel = kernels.setdefault(launch["kernel"], {"variant": launch["kernel"], "launches": 0, "clocks": 0,
                                                       "burst_us": 0, "sustained_us": 0, "longest": -1})
        kernel["launches"] += 1
        if launch["clocks"] > kernel["longest"]:
            kernel.update({key: launch[key] for key in ("class", "relative_error", "limit")}, longest=launch["clocks"])
        for key in ("clocks", "burst_us", "sustained_us"):
            kernel[key] += launch[key]
    return [{key: kernel[key] for key in ("variant", "launches", *KEPT)} for kernel in kernels.values()]


def predictions(build, module, options, chips, sample):
    """Product -> kernels, for the products of `chips`."""
    found = {product: (sample and predict(build, module, options, product, True)) or
             predict(build, module, options, product, False)
             for product, (chip, _) in PRODUCTS.items() if chip in chips}
    return {product: kernels for product, kernels in found.items() if kernels}
