"""Published times of AMD kernels that the timing model is scored on.

A Case is a kernel with its launch and what was measured; a family is what one author
measured in one way. `reconstructed` families are loops written here from the description
of a measurement, since the original binary is not at hand.
"""
import json
import re
import textwrap
from dataclasses import dataclass, field


@dataclass
class Case:
    family: str
    name: str
    chip: str
    source: str
    language: str  # "hip" or "asm"
    kernel: str  # a part of its name
    grid: tuple
    block: tuple
    args: list
    measured: float
    unit: str  # "us", "clocks", "share" of the matrix unit in the loop, "GB/s"
    sets: str = ""
    bytes: float = 0  # of GB/s
    notes: str = ""
    results: list = field(default_factory=list)


# ROCm/gpuaidev, docs/notebooks/gpu_dev_optimize/fp8_gemm_hip_cdna4.ipynb: FP8 product of
# 4096^3 on an MI355X, ms by events with rotating cold buffers, mean of 50.
NOTEBOOK = [
    # cell, name, kernel, grid, block, ms, note
    (24, "naive", "naive_gemm", (256, 256), (16, 16), 119.77, ""),
    (28, "tiled", "tiled_gemm", (256, 256), (16, 16), 28.612, ""),
    (32, "mfma", "mfma_gemm_fp8_kernel", (128, 128), (64, 4), 4.593, ""),
    (36, "vectorised", "mfma_gemm_fp8_vec", (128, 128), (64, 4), 0.4032, ""),
    (40, "buffer_load to LDS", "bufferload_kernel", (128, 128), (64, 4), 0.2742, ""),
    (44, "swizzle", "bufferload_swizzle", (128, 128), (64, 4), 0.2778, ""),
    (48, "double buffer", "double_bufferload_kernel", (64, 64), (64, 4), 0.1195, ""),
    (52, "128x128, 8 waves", "128x128x128_t512", (32, 32), (512,), 0.0760, ""),
    (56, "256x256, 512 threads", "ILin1ELin1ELin1ELb1E", (16, 16), (512,), 0.0686, ""),
    (60, "256x256, 1024 threads", "ILin1ELin1ELin1ELb1E", (16, 16), (1024,), 0.0660, ""),
    (64, "ping-pong", "ILi4096ELi4096ELi4096E", (256,), (512,), 0.0519,
     "clang 22 spills here"),
]


def notebook_sources(path):
    cells = json.load(open(path))["cells"]
    for cell, *_ in NOTEBOOK:
        text = "".join(cells[cell]["source"])
        parts = re.findall(r"= textwrap\.dedent\(\s*r('''|\"\"\")(.*?)\1", text, re.S)
        source = "".join(textwrap.dedent(part) for _, part in parts)
        yield cell, re.sub(r".*(#include <torch|TORCH_CHECK).*", "", source)


def notebook(path):
    sources = dict(notebook_sources(path))
    n = 4096
    buffers = [f"zero:{n * n}", f"zero:{n * n}", f"out:{2 * n * n}"]
    scalars = [f"i32:{n}"] * 6 + ["f32:1", "f32:0"]
    for cell, name, kernel, grid, block, ms, note in NOTEBOOK:
        yield Case("notebook", name, "mi355x", sources[cell], "hip", kernel, grid, block,
                   buffers if cell == 64 else buffers + scalars, 1e3 * ms, "us", notes=note)


def loop(before, body, iterations, lds=0, vgprs=128):
    """A kernel of one loop over s12; s[4:5] is a buffer, s2 the workgroup."""
    return f""".text
.globl loop
.p2align 8
.type loop,@function
loop:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
{before}
  s_movk_i32 s12, {iterations}
again:
{body}
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 again
  s_endpgm
.size loop, .-loop
.rodata
.p2align 6
.amdhsa_kernel loop
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 64
  .amdhsa_accum_offset {vgprs // 2}
  .amdhsa_group_segment_fixed_size {lds}
.end_amdhsa_kernel
"""


def tiles():
    """gfx950-gluon-tutorials, tcp_bound_tile_model: FP16 tiles with 64 of K."""
    measured = {(256, 256): 96, (256, 128): 83, (128, 256): 84, (128, 128): 69,
                (256, 64): 55, (64, 256): 57, (128, 64): 47, (64, 128): 47}
    for (m, n), share in measured.items():
        loads, products = (m + n) * 128 // 8192, m * n * 64 // (32 * 32 * 16) // 8
        body = ""
        for i in range(max(loads, products)):
            if i < loads:
                body += ("  v_add_u32_e32 v1, 0x2000, v1\n  v_and_b32_e32 v1, 0x3ffff, v1\n"
                         "  global_load_dwordx4 v[4:7], v1, s[4:5]\n")
            if i < products:
                body += "  v_mfma_f32_32x32x16_f16 a[0:15], v[20:23], v[24:27], a[0:15]\n"
        text = loop("  v_lshlrev_b32_e32 v1, 4, v0", body + f"  s_waitcnt vmcnt({loads})", 96,
                    vgprs=256)
        yield Case("tiles", f"{m}x{n}", "mi355x", text, "asm", "loop", (256,), (512,),
                   ["zero:1048576"], share / 100, "share", sets="mallTrip=1,hbmTrip=1")


def sweep():
    """The same tutorials: GB/s of a memory-bound product by workgroups."""
    measured = {32: 1529, 64: 2864, 96: 4067, 128: 4580, 160: 4828, 192: 5628, 224: 6198,
                256: 6442}
    iterations, loads = 8, 8
    body = "".join(f"  global_load_dwordx4 v[{4 + 4 * i}:{7 + 4 * i}], v1, s[4:5]\n"
                   "  v_add_u32_e32 v1, 0x2000, v1\n" for i in range(loads))
    before = ("  v_lshlrev_b32_e32 v1, 4, v0\n  s_lshl_b32 s13, s2, 19\n"
              "  v_add_u32_e32 v1, s13, v1")
    text = loop(before, body + "  s_waitcnt vmcnt(4)", iterations, vgprs=256)
    for groups, rate in measured.items():
        total = groups * iterations * loads * 8192
        yield Case("sweep", f"{groups} workgroups", "mi355x", text, "asm", "loop", (groups,),
                   (512,), [f"zero:{groups << 19}"], rate, "GB/s", bytes=total)


def lds():
    """amd-shark-ai, empirical LDS study: clocks of 64 reads of one wave."""
    rows = [("mi300x", 16, 16, 1384), ("mi300x", 16, 128, 7614), ("mi300x", 8, 8, 852),
            ("mi300x", 8, 128, 7157), ("mi300x", 4, 4, 501), ("mi300x", 4, 128, 6810),
            ("mi355x", 8, 8, 583), ("mi355x", 8, 256, 10024)]
    for chip, width, stride, clocks in rows:
        reads = f"  ds_read_b{8 * width} v[4:{3 + width // 4}], v2\n" * 64
        reads = reads.replace("v[4:4]", "v4")
        text = loop(f"  v_mul_u32_u24_e32 v2, {stride}, v0", reads + "  s_waitcnt lgkmcnt(0)",
                    1, lds=65536)
        yield Case("lds", f"b{8 * width}, lanes {stride} bytes apart", chip, text, "asm",
                   "loop", (1,), (64,), ["zero:4096"], clocks, "clocks")
