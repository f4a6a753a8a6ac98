"""What the machine has and what it lacks. Every fact is chosen: nothing here names the machine
or its user."""

import glob
import importlib.metadata
import os
import pathlib
import platform
import re
import sys

from private import scrub

KFD = "/dev/kfd"
#: What hides devices from HIP and changes their numbers.
HIDING = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
HELP = "https://rocm.docs.amd.com (installation on Linux)"
ROCM = {"gfx942": (6, 0), "gfx950": (7, 0)}  # first releases whose HIP loads code for the chip
PACKAGES = ["torch", "triton", "aiter", "amd-aiter", "rocm", "rocm-sdk-core", "numpy"]


def first(path, pattern=r"(?s)(.*)"):
    try:
        match = re.search(pattern, pathlib.Path(path).read_text())
    except OSError:
        return None
    return match[1].strip() if match else None


def packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def hip_candidates():
    """Files of libamdhip64 outside of the loader's path: ROCm's folder, wheels."""
    folders = [*sorted(glob.glob("/opt/rocm*/lib"), reverse=True)]
    for path in sys.path:
        folders += [os.path.join(path, "_rocm_sdk_core", "lib"), os.path.join(path, "torch", "lib")]
    return [file for folder in folders for file in sorted(glob.glob(os.path.join(folder, "libamdhip64.so*")))]


def find_hip(device):
    """What the probe says; tries files in known places when the loader finds none."""
    found = device.probe()
    if found.get("library") and not found.get("works"):
        found = device.probe()  # what failed once may have been another program
    if found.get("library") or device.environment.get("HK_HIP_LIBRARY"):
        return found
    for file in hip_candidates():
        device.environment["HK_HIP_LIBRARY"] = file
        other = device.probe()
        if other.get("library"):
            return other
    device.environment.pop("HK_HIP_LIBRARY", None)
    return found


def version(number):
    """HIP's number as text: 60342134 is 6.3.42134."""
    return f"{number // 10**7}.{number // 10**5 % 100}.{number % 10**5}" if number else None


def facts(hip):
    distribution = [first("/etc/os-release", rf'(?m)^{key}="?([^"\n]*)') or "" for key in ("ID", "VERSION_ID")]
    return {
        "system": " ".join(distribution).strip() or "unknown",
        "kernel": ".".join(platform.release().split(".")[:2]), "machine": platform.machine(),
        "libc": platform.libc_ver()[1], "python": platform.python_version(),
        "processor": first("/proc/cpuinfo", r"model name\s*: (.*)"), "threads": os.cpu_count(),
        "memory_gib": round(int(first("/proc/meminfo", r"MemTotal:\s*(\d+)") or 0) / 2**20),
        "amdgpu": first("/sys/module/amdgpu/version"), "rocm": first("/opt/rocm/.info/version"),
        "kfd": "readable" if os.access(KFD, os.R_OK | os.W_OK) else "no permission" if os.path.exists(KFD) else "absent",
        "packages": packages(),
        "hip": {"library": os.path.basename(hip.get("library") or "") or None, "runtime": version(hip.get("runtime")),
                "driver": version(hip.get("driver")), "devices": hip.get("devices")},
        "device": {"name": hip.get("name"), "chip": hip.get("chip"), "compute_units": hip.get("compute_units"),
                   "memory_gib": round(hip["memory"] / 2**30, 1) if hip.get("memory") else None,
                   "lds_bytes": hip.get("lds_bytes"), "clock_mhz": (hip.get("clock_khz") or 0) // 1000 or None,
                   "emulated": "(emulated)" in (hip.get("name") or "")},
    }


def number_of(text):
    return tuple(int(part) for part in re.findall(r"\d+", text or "")[:2])


def missing(found, hip, manifest, number=0):
    """What stops the test or parts of it: what, how to get it, and whether it stops all. `number`: of the device."""
    lacks = []

    def lack(what, how, stops=True):
        lacks.append({"what": scrub(what), "how": how, "stops": stops})

    if number_of(found["libc"]) and number_of(found["libc"]) < number_of(manifest["glibc"]):
        lack(f"the bundle's programs need glibc {manifest['glibc']}, this system has {found['libc']}",
             "build hk here (./quickstart), or make the bundle on this system")
    emulated = found["device"]["emulated"]
    if found["kfd"] == "absent" and not emulated:
        lack("/dev/kfd is absent: the kernel driver amdgpu runs no AMD GPU", f"install amdgpu and reboot: {HELP}")
    if found["kfd"] == "no permission" and not emulated:
        lack("/dev/kfd may not be opened", "sudo usermod -a -G render,video $USER, then log in again")
    if not hip.get("library"):
        lack("no HIP library (libamdhip64) loads: " + "; ".join(hip.get("reasons", [])),
             f"install ROCm's HIP runtime: {HELP}, or its wheel (ROCm/TheRock, RELEASES.md); a file elsewhere is "
             "named by HK_HIP_LIBRARY")
    elif not hip.get("works"):
        hiding = [name for name in HIDING if name in os.environ]
        lack(f"the HIP library loads, but device {number} does not work: " + "; ".join(hip.get("reasons", [])),
             "rocminfo and dmesg say more" + "".join(f"; {name} is set" for name in hiding))
    chip = found["device"]["chip"]
    if hip.get("works") and chip not in manifest["chips"]:
        lack(f"the device is {chip}; the bundle has code for {', '.join(manifest['chips'])}",
             " or ".join(f"--device=hip:{i} is {other}" for i, other in enumerate(hip.get("chips") or [])
                         if other in manifest["chips"]) or
             "an Instinct MI300 (gfx942) or MI350 (gfx950) is needed; HIP_VISIBLE_DEVICES may hide one")
    release = number_of(found["hip"]["runtime"])
    if chip in ROCM and release and release < ROCM[chip] and not emulated:
        lack(f"HIP {found['hip']['runtime']} is older than the first that is known to have {chip}",
             f"ROCm {'.'.join(map(str, ROCM[chip]))} or newer: {HELP}", stops=False)
    return lacks
