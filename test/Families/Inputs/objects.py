# ===- objects.py - What code objects of AMD chips say ---------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Registers, LDS, spills and instructions of the kernels in a compiled module, read
# from the metadata and the listing of its code objects. Nothing runs.
import re
import struct
import subprocess
from dataclasses import dataclass, field

REGISTERS, GRANULE, SIMDS = 512, 8, 4  # of a compute unit of CDNA
LDS = {"gfx942": 65536, "gfx950": 163840}

WIDTHS = {"byte": 1, "ubyte": 1, "sbyte": 1, "short": 2, "ushort": 2, "sshort": 2, "dword": 4, "dwordx2": 8,
          "dwordx3": 12, "dwordx4": 16}


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def code_objects(library):
    """The AMD code objects in a shared library."""
    with open(library, "rb") as file:
        data = file.read()
    for match in re.finditer(b"\x7fELF\x02\x01", data[1:]):
        at = match.start() + 1
        machine, = struct.unpack_from("<H", data, at + 18)
        sections, = struct.unpack_from("<Q", data, at + 40)
        size, count = struct.unpack_from("<HH", data, at + 58)
        if machine == 224:
            yield data[at:at + sections + size * count]


def access_bytes(name):
    """Bytes that an instruction accesses in global memory, if it is one that does."""
    match = re.fullmatch(r"(?:global|buffer|flat)_(?:load|store)_(\w+?)(?:_d16(?:_hi)?)?", name)
    return WIDTHS.get(match[1]) if match else None


@dataclass
class Instruction:
    address: int
    name: str
    target: int | None  # of a branch, if it is in the kernel
    operands: str = ""


@dataclass
class Kernel:
    name: str
    vgprs: int  # of the unified file: with AGPRs
    agprs: int
    sgprs: int
    threads: int
    lds: int
    spills: int  # registers, vector and scalar
    scratch: int  # bytes of a lane
    code: list = field(default_factory=list)
    data: list = field(default_factory=list)  # names of constants in memory, which no kernel should need

    def accesses(self):
        """Bytes of its global accesses."""
        return {width for i in self.code if (width := access_bytes(i.name))}

    def waves(self, target):
        """Waves of a SIMD that registers and LDS allow, at most 8."""
        by_registers = REGISTERS // max(GRANULE, -(-self.vgprs // GRANULE) * GRANULE)
        groups = LDS[target] // self.lds if self.lds else 32
        return min(8, by_registers, groups * -(-self.threads // 64) / SIMDS)


def instructions(listing):
    """The code of each symbol in the text of llvm-objdump."""
    code = {}
    for part in re.split(r"\n(?=[0-9a-f]{16} <)", listing)[1:]:
        start, name = re.match(r"([0-9a-f]+) <(.+?)>:", part).groups()
        mine = code[name] = []
        for line in re.finditer(r"^\t(\S+)(.*?)// 0*([0-9A-F]+):[0-9A-F ]*(?:<(.+?)(?:\+0x([0-9a-f]+))?>)?$", part, re.M):
            target = int(start, 16) + int(line[5] or "0", 16) if line[4] == name else None
            mine.append(Instruction(int(line[3], 16), line[1], target, line[2].strip()))
        while mine and mine[-1].name != "s_endpgm":  # padding
            mine.pop()
    return code


#: The one constant that kernels read, zeros for rows that are none, and what is no data of a kernel.
KNOWN_DATA = re.compile(r"kZeroChunk|\.kd$|^__hip_cuid_")


def data_of(paths):
    """By kernel, the names of the data in its code object."""
    found = {}
    for part in output("llvm-readelf", "--dyn-syms", "--wide", *paths).split("\nFile: "):
        names = re.findall(r" OBJECT .* (\S+)$", part, re.M)
        data = sorted({name for name in names if not KNOWN_DATA.search(name)})
        found.update((name[:-3], data) for name in names if name.endswith(".kd"))
    return found


def kernels_of(paths):
    """The kernels of code objects by name; how their metadata counts is in AMDGPUUsage."""
    found = {}
    code, data = instructions(output("llvm-objdump", "-d", *paths)), data_of(paths)
    for part in re.split(r"\n  - (?=\.)", output("llvm-readelf", "--notes", *paths))[1:]:
        name = re.search(r"\.name: +(hk_\w+)", part)
        if not name:
            continue

        def number(key):
            return int(re.search(rf"\.{key}: +(\d+)", part)[1])

        found[name[1]] = Kernel(name[1], number("vgpr_count"), number("agpr_count"), number("sgpr_count"),
                                number("max_flat_workgroup_size"), number("group_segment_fixed_size"),
                                number("vgpr_spill_count") + number("sgpr_spill_count"),
                                number("private_segment_fixed_size"), code[name[1]], data[name[1]])
    return found


def kernels_of_library(library, folder):
    """The same of every code object in a module; `folder` holds files in between."""
    paths = []
    for number, data in enumerate(code_objects(library)):
        paths.append(f"{folder}/{number}.co")
        with open(paths[-1], "wb") as file:
            file.write(data)
    return kernels_of(paths) if paths else {}
