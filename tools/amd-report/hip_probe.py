"""Asks the HIP library what it finds. Run as a child: a broken driver may hang or crash.

  hip_probe.py NUMBER [LIBRARY]     prints one line of JSON

It opens the device of this number, allocates, copies there and back, and waits: what every call of a
module needs. Names of libraries are those that libhk_runtime tries (runtime/device/hip/HipApi.cpp).
"""

import ctypes
import json
import os
import re
import sys

NAMES = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"]
PROPERTIES_BYTES = 16384
# hipDeviceAttribute_t of ROCm 6 and later.
ATTRIBUTES = {"clock_khz": 5, "compute_units": 63, "lds_bytes": 74, "wave": 87}


def load(chosen):
    reasons = []
    for name in [chosen] if chosen else NAMES:
        try:
            return ctypes.CDLL(name), name, reasons
        except OSError as error:
            reasons.append(str(error))
    return None, None, reasons


class Failed(Exception):
    pass


def call(library, name, *arguments):
    function = getattr(library, name, None)
    if function is None:
        raise Failed(f"the library has no {name}")
    status = function(*arguments)
    if status:
        library.hipGetErrorString.restype = ctypes.c_char_p
        text = library.hipGetErrorString(status) or b""
        raise Failed(f"{name} failed with {status}: {text.decode(errors='replace')}")


def number(library, name, *arguments, kind=ctypes.c_int):
    value = kind()
    call(library, name, ctypes.byref(value), *arguments)
    return value.value


def describe(library, device):
    """Name and chip, wherever the release has them in its struct."""
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    newer = hasattr(library, "hipGetDevicePropertiesR0600")
    call(library, "hipGetDevicePropertiesR0600" if newer else "hipGetDeviceProperties", properties, device)
    chip = re.search(rb"gfx\d[0-9a-f]*", properties.raw[256:])
    return properties.value.decode(errors="replace"), chip[0].decode() if chip else None


def chip_of(library, device):
    """None where this device, which may not be the one that is tested, does not say it."""
    try:
        return describe(library, device)[1]
    except Failed:
        return None


def copies(library):
    """Whether bytes come back as they went."""
    count = 1 << 16
    sent = os.urandom(count)
    received = ctypes.create_string_buffer(count)
    memory = ctypes.c_void_p()
    call(library, "hipMalloc", ctypes.byref(memory), ctypes.c_size_t(count))
    call(library, "hipMemcpy", memory, sent, ctypes.c_size_t(count), 1)
    call(library, "hipDeviceSynchronize")
    call(library, "hipMemcpy", received, memory, ctypes.c_size_t(count), 2)
    call(library, "hipFree", memory)
    return received.raw == sent


def probe(device, chosen):
    library, name, reasons = load(chosen)
    facts = {"library": name, "reasons": reasons}
    if library is None:
        return facts
    try:
        if hasattr(library, "hipInit"):
            call(library, "hipInit", 0)
        facts["devices"] = number(library, "hipGetDeviceCount")
        for key, function in (("runtime", "hipRuntimeGetVersion"), ("driver", "hipDriverGetVersion")):
            facts[key] = number(library, function)
        if not device < facts["devices"]:
            raise Failed(f"there is no device {device}, of {facts['devices']}")
        facts["chips"] = [chip_of(library, other) for other in range(facts["devices"])]
        call(library, "hipSetDevice", device)
        facts["name"], facts["chip"] = describe(library, device)
        facts["memory"] = number(library, "hipDeviceTotalMem", device, kind=ctypes.c_size_t)
        for key, attribute in ATTRIBUTES.items():
            try:
                facts[key] = number(library, "hipDeviceGetAttribute", attribute, device)
            except Failed:
                facts[key] = None  # another release numbers it otherwise
        if hasattr(library, "hipDeviceGetPCIBusId"):
            text = ctypes.create_string_buffer(64)
            call(library, "hipDeviceGetPCIBusId", text, 64, device)
            facts["pci"] = text.value.decode()  # to find its clocks; not reported
        facts["works"] = copies(library)
    except Failed as error:
        facts["reasons"].append(str(error))
    return facts


if __name__ == "__main__":
    print(json.dumps(probe(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)), flush=True)
    # Without the destructors of a driver that may be broken.
    os._exit(0)
