"""The tiles that hk chooses for products, beside every other tile, by the timing model.

    tiles.py --build=build/release --chip=gfx942 --json=FILE [--only=NAME]
    tiles.py --table=FILE

Each shape is compiled once with the tile that the cost model chooses and once with every other
that could make sense; the emulator models each (cold caches, a sample of the workgroups). Slices
of k are off, so that tiles are compared and nothing else. Nothing here is a measurement.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
F8 = {"gfx942": "f8E4M3FNUZ", "gfx950": "f8E4M3FN"}
PLAIN = [(16, 4096, 4096), (64, 4096, 4096), (384, 4096, 4096), (1024, 4096, 4096), (2048, 4096, 4096),
         (4096, 4096, 4096)]
SCALED = [(96, 7168, 2048), (96, 2048, 7168), (384, 7168, 2048), (2048, 7168, 2048)]
#: MX products: the types of both sides.
MX = {"mxfp4": ("f4E2M1FN", "f4E2M1FN"), "mxfp8": ("f8E4M3FN", "f8E4M3FN"), "mxfp8_fp4": ("f8E4M3FN", "f4E2M1FN")}


def shapes(chip):
    """name -> (function, bytes of an element of an operand, rows)."""
    found = {}
    for m, n, k in PLAIN:
        found[f"bf16_{m}_{n}_{k}"] = (f"""(%x: tensor<{m}x{k}xbf16>, %w: tensor<{n}x{k}xbf16>) -> tensor<{m}x{n}xbf16> {{
  %y = hk.matmul %x, %w transpose_b : tensor<{m}x{k}xbf16>, tensor<{n}x{k}xbf16> -> tensor<{m}x{n}xbf16>
  return %y : tensor<{m}x{n}xbf16>
}}""", 2, m)
    for m, n, k in SCALED:
        x, w, s, t = (f"tensor<{a}x{b}x{c}>" for a, b, c in ((m, k, F8[chip]), (n, k, F8[chip]), (m, k // 128, "f32"),
                                                            (n // 128, k // 128, "f32")))
        found[f"fp8_block_{m}_{n}_{k}"] = (f"""(%x: {x}, %w: {w}, %s: {s}, %t: {t}) -> tensor<{m}x{n}xbf16> {{
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : {x}, {w} scales ({s}, {t}) -> tensor<{m}x{n}xbf16>
  return %y : tensor<{m}x{n}xbf16>
}}""", 1, m)
    for kind, (left, right) in MX.items():
        for m, n, k in PLAIN:
            x, w, s, t = (f"tensor<{a}x{b}x{c}>" for a, b, c in ((m, k, left), (n, k, right), (m, k // 32, "f8E8M0FNU"),
                                                                (n, k // 32, "f8E8M0FNU")))
            found[f"{kind}_{m}_{n}_{k}"] = (f"""(%x: {x}, %w: {w}, %s: {s}, %t: {t}) -> tensor<{m}x{n}xbf16> {{
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : {x}, {w} scales ({s}, {t}) -> tensor<{m}x{n}xbf16>
  return %y : tensor<{m}x{n}xbf16>
}}""", 0.5 if kind == "mxfp4" else 1, m)
    return found


def rows(chip, microscaled):
    """(bm, bn, bytes of k, waves, waves, stages, loop) of the chip's table of tiles."""
    text = (ROOT / "include/hk/Contract/GemmTiles.h").read_text()
    table = re.search(rf"kGemmTilesG{chip[1:]}\[\] = {{(.*?)\n}};", text, re.S)[1]
    found = []
    for start, loop in (("microscaled(", "microscaled"),) if microscaled else (("pingPong(", "ping_pong"), ("{", "")):
        lines = [list(map(int, re.findall(r"\d+", r))) for r in table.split("\n") if r.strip().startswith(start)]
        found += [((256, 256, 128, 2, 4, *n) if loop == "ping_pong" else tuple(n[:6])) + (loop,) for n in lines]
    return found


def is_microscaled(chip, name):
    """Whether the chip multiplies the shape's operands as they lie."""
    return chip == "gfx950" and name.startswith("mx")


def text_of(row, size):
    bm, bn, depth, wm, wn, stages, loop = row
    return (f"#hk.gemm_tile<bm = {bm}, bn = {bn}, bk = {int(depth / size)}, wm = {wm}, wn = {wn}, "
            f"stages = {stages}, splitK = 1{f', loop = {loop}' if loop else ''}>")


def sensible(row, m):
    """Tiles of four times the rows, and the smallest ones for very many, are not worth a run."""
    return row[0] <= max(32, 2 * m) and (m < 1024 or row[0] * row[1] >= 64 * 128)


def model(chip, function, kept, bin_, folder, microscaled):
    """The tile that was compiled, and its modelled launch; None if it does not fit."""
    body, size, _ = function
    others = [text_of(r, size) for r in rows(chip, microscaled) if kept and r != kept]
    attribute = f"attributes {{hk.spilling_tiles = {{matmul = [{', '.join(others)}]}}}} " if kept else ""
    source, library, lines = (f"{folder}/tile.{end}" for end in ("mlir", "so", "jsonl"))
    pathlib.Path(source).write_text(f"module {attribute}{{\nfunc.func @f{body}\n}}\n")
    done = subprocess.run([bin_ / "hk-compile", source, f"--target={chip}", "--split-k=1", "-o", library],
                          capture_output=True, text=True)
    if done.returncode:
        if "needs" in done.stderr or "no tile" in done.stderr or "spill" in done.stderr:
            return None
        raise SystemExit(done.stderr)
    info = json.loads(subprocess.run([bin_ / "hk-run", library, "--info"], check=True, capture_output=True).stdout)
    tile = info["sections"][0]["kernels"][0]["variants"][0]["tile"]
    if kept and tile != text_of(kept, size):
        return None
    subprocess.run([bin_ / "hk-run", library, "--device=hip:0"], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, HK_EMU_TIMING=lines))
    result = json.loads(pathlib.Path(lines).read_text())
    os.remove(lines)
    return tile, result


def short(tile):
    return "x".join(re.findall(r"= (\d+)", tile)[:3]) + "".join(re.findall(r", loop = (ping_pong)", tile)).replace("p", " p", 1)


def run(options):
    bin_ = options.build.resolve() / "bin"
    os.environ.update(HK_EMU_CHIP=options.chip, HK_EMU_TIMING_SAMPLE="1", HK_EMU_CHECKS="0",
                      HK_HIP_LIBRARY=str(options.build.resolve() / "lib/libhk_emu.so"))
    with tempfile.TemporaryDirectory() as folder:
        for name, function in shapes(options.chip).items():
            if options.only not in name:
                continue
            mx = is_microscaled(options.chip, name)
            chosen, result = model(options.chip, function, None, bin_, folder, mx)
            found = {chosen: result}
            for row in rows(options.chip, mx):
                tile = text_of(row, function[1])
                if not options.chosen and tile not in found and sensible(row, function[2]):
                    made = model(options.chip, function, row, bin_, folder, mx)
                    if made:
                        found[tile] = made[1]
            line = {"chip": options.chip, "shape": name, "chosen": chosen,
                    "tiles": {t: {k: r[k] for k in ("clocks", "burst_us", "limit", "relative_error", "workgroups",
                                                    "mfma_loop_share", "iteration_clocks", "resident")}
                              for t, r in found.items()}}
            print(name, short(chosen), *sorted((round(r["burst_us"], 1), short(t), r["limit"])
                                               for t, r in line["tiles"].items()), flush=True)
            with options.json.open("a") as out:
                out.write(json.dumps(line) + "\n")


def table(path):
    print("| chip | shape | chosen | modelled us | its limit (modelled) | best tile (modelled) | modelled us | chosen / best |")
    print("|---|---|---|---|---|---|---|---|")
    for text in path.read_text().splitlines():
        line = json.loads(text)
        chosen = line["tiles"][line["chosen"]]
        best, result = min(line["tiles"].items(), key=lambda p: p[1]["burst_us"])
        print(f"| {line['chip']} | {line['shape']} | {short(line['chosen'])} | {chosen['burst_us']:.1f} | {chosen['limit']} | "
              f"{short(best)} | {result['burst_us']:.1f} | {chosen['burst_us'] / result['burst_us']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--chip", choices=list(F8))
    parser.add_argument("--only", default="", help="part of a shape's name")
    parser.add_argument("--chosen", action="store_true", help="the chosen tiles alone")
    parser.add_argument("--json", type=pathlib.Path, help="append results here")
    parser.add_argument("--table", type=pathlib.Path, help="only print the table of such a file")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    else:
        run(options)


if __name__ == "__main__":
    main()
