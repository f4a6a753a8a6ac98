"""How many slices of the keys hk chooses for decode steps, beside every other number, by the timing model.

    slices.py --build=build/release --chip=gfx942 --json=FILE [--only=NAME] [--chosen] [--predict]
    slices.py --table=FILE

Each decode step is compiled with the number that the cost model chooses and with every other; the
emulator models each (cold caches, a sample of the workgroups), the attention and the combination of
its slices. What the cost model predicts of each stands in --explain. Nothing here is a measurement.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

#: Sequences, heads, heads of keys, keys, size of a head, whether in pages of 16 with lengths that only a call knows.
SHAPES = [(1, 32, 8, 4096, 128, True), (1, 32, 8, 16384, 128, True), (1, 32, 8, 65536, 128, True),
          (8, 32, 8, 8192, 128, True), (8, 32, 8, 32768, 128, True), (64, 32, 8, 4096, 128, True),
          (1, 64, 8, 16384, 64, True), (1, 32, 8, 16384, 128, False), (8, 32, 8, 8192, 128, False)]


def name_of(b, h, g, s, d, paged):
    return f"{b} x {s}, {h} heads, {g} of keys, D {d}, {'pages of 16' if paged else 'one tensor'}"


def source_of(b, h, g, s, d, paged):
    q, pages = f"tensor<{b}x1x{h}x{d}xbf16>", b * s // 16
    if not paged:
        k = f"tensor<{b}x{s}x{g}x{d}xbf16>"
        return f"""func.func @f(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
  %o = hk.attention %q, %k, %v scale 0.088388 : {q}, {k}, {k} -> {q}
  return %o : {q}
}}""", []
    k, n, t = f"tensor<{pages}x16x{g}x{d}xbf16>", f"tensor<{b}xi32>", f"tensor<{b}x{s // 16}xi32>"
    return f"""func.func @f(%q: {q}, %k: {k}, %v: {k}, %n: {n}, %t: {t}) -> {q} {{
  %o = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 : {q}, {k}, {k} kv_lens {n} block_table {t} -> {q}
  return %o : {q}
}}""", [f"--range=n={s}:{s}", "--range=t=iota"]


def predictions(bin_, source, chip):
    """slices -> microseconds by the cost model, and the number it takes."""
    text = subprocess.run([bin_ / "hk-compile", source, f"--target={chip}", "--explain=json"], check=True,
                          capture_output=True, text=True).stdout
    plan = next(d for d in json.loads(text)["decisions"] if d["kind"] == "plan")
    found = {1 if c["what"] == "whole" else int(c["what"].split()[0]): c["microseconds"] for c in plan["candidates"]}
    return found, list(found)[plan["chosen"]]


def model(bin_, source, chip, options, slices, folder):
    """The launches of the decode step in so many slices."""
    library, lines = f"{folder}/f.so", f"{folder}/f.jsonl"
    subprocess.run([bin_ / "hk-compile", source, f"--target={chip}", f"--split-keys={slices}", "-o", library], check=True)
    subprocess.run([bin_ / "hk-run", library, "--device=hip:0", *options], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, HK_EMU_TIMING=lines))
    results = [json.loads(line) for line in pathlib.Path(lines).read_text().splitlines()]
    os.remove(lines)
    return [{k: r[k] for k in ("clocks", "burst_us", "limit", "workgroups", "resident", "relative_error")} for r in results]


def run(options):
    bin_ = options.build.resolve() / "bin"
    os.environ.update(HK_EMU_CHIP=options.chip, HK_EMU_TIMING_SAMPLE="1", HK_EMU_CHECKS="0",
                      HK_HIP_LIBRARY=str(options.build.resolve() / "lib/libhk_emu.so"))
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            name = name_of(*shape)
            if options.only not in name:
                continue
            text, arguments = source_of(*shape)
            source = f"{folder}/f.mlir"
            pathlib.Path(source).write_text(text)
            predicted, chosen = predictions(bin_, source, options.chip)
            print(options.chip, name, "chosen", chosen, {n: round(t, 1) for n, t in predicted.items()}, flush=True)
            if options.predict:
                continue
            # Far from the best of the prediction only the prediction is of interest.
            counts = [n for n, t in predicted.items() if t <= options.within * min(predicted.values()) or n == chosen]
            counts = [int(n) for n in options.counts.split(",")] if options.counts else counts
            found = {n: model(bin_, source, options.chip, arguments, n, folder)
                     for n in ([chosen] if options.chosen else counts)}
            print(*((n, [round(r["burst_us"], 1) for r in launches]) for n, launches in found.items()), flush=True)
            with options.json.open("a") as out:
                out.write(json.dumps({"chip": options.chip, "shape": name, "chosen": chosen, "predicted": predicted,
                                      "modelled": found}) + "\n")


def table(path):
    print("| chip | decode step | chosen | predicted us | modelled us | best (modelled) | modelled us | chosen / best |")
    print("|---|---|---|---|---|---|---|---|")
    for text in path.read_text().splitlines():
        line = json.loads(text)
        times = {n: sum(r["burst_us"] for r in launches) for n, launches in line["modelled"].items()}
        chosen, best = str(line["chosen"]), min(times, key=times.get)
        print(f"| {line['chip']} | {line['shape']} | {chosen} | {line['predicted'][chosen]:.1f} | {times[chosen]:.1f} | {best} | "
              f"{times[best]:.1f} | {times[chosen] / times[best]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--chip", choices=["gfx942", "gfx950"])
    parser.add_argument("--only", default="", help="part of a shape's name")
    parser.add_argument("--chosen", action="store_true", help="the chosen numbers alone")
    parser.add_argument("--predict", action="store_true", help="predictions alone")
    parser.add_argument("--counts", default="", help="the numbers to run, such as 1,4")
    parser.add_argument("--within", type=float, default=3, help="run what is predicted at so many times the best")
    parser.add_argument("--json", type=pathlib.Path, help="append results here")
    parser.add_argument("--table", type=pathlib.Path, help="only print the table of such a file")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    else:
        run(options)


if __name__ == "__main__":
    main()
