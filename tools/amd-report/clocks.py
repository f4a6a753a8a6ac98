"""Clock, power and temperature of the device while something runs, from sysfs.

Only what a user may read: hwmon files of the amdgpu driver. Where there are none the report
says so.
"""

import os
import pathlib
import re
import statistics
import threading

SYSFS = "/sys"
SECONDS = 0.05
# file -> what it is in the report, and its unit there
FILES = {"hwmon/hwmon*/freq1_input": ("clock_mhz", 1e-6), "pp_dpm_sclk": ("clock_mhz", 1),
         "hwmon/hwmon*/power1_average": ("power_w", 1e-6), "hwmon/hwmon*/power1_input": ("power_w", 1e-6),
         "hwmon/hwmon*/temp1_input": ("temperature_c", 1e-3)}


def root():
    """HK_REPORT_SYSFS: another place, for tests."""
    return pathlib.Path(os.environ.get("HK_REPORT_SYSFS", SYSFS))


def sources(pci):
    """Readable files of the device with this PCI address, or of the only AMD card."""
    devices = []
    for device in sorted((root() / "class" / "drm").glob("card[0-9]*/device")):
        try:
            if (device / "vendor").read_text().strip() == "0x1002":
                devices.append(device)
        except OSError:
            continue
    if pci:
        devices = [d for d in devices if d.resolve().name.lower() == pci.lower()] or devices
    found = {}
    if len(devices) == 1:
        for name, (key, scale) in FILES.items():
            for path in sorted(devices[0].glob(name)):
                if key not in found and os.access(path, os.R_OK):
                    found[key] = (path, scale)
    return found


def read(path):
    """The number in a file; of a list of clocks ("1: 2100Mhz *") the one that is marked."""
    text = path.read_text()
    marked = re.search(r"(\d+)Mhz \*", text)
    return int(marked[1] if marked else text)


class Sampler:
    """`with Sampler(pci) as s:` and then s.summary(): least, median and most of each, or None."""

    def __init__(self, pci):
        self.sources = sources(pci)
        self.samples = {key: [] for key in self.sources}
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)

    def sample(self):
        while True:
            for key, (path, scale) in self.sources.items():
                try:
                    self.samples[key].append(read(path) * scale)
                except (OSError, ValueError):
                    pass
            if self.done.wait(SECONDS):
                return

    def __enter__(self):
        if self.sources:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        if self.sources:
            self.thread.join()

    def summary(self):
        found = {key: {"min": min(v), "median": statistics.median(v), "max": max(v)}
                 for key, v in self.samples.items() if v}
        return found or None
