#!/bin/sh
# Speed of the emulator with every check on: a fused row-wise kernel, a bf16
# matrix product and flash attention of hk itself, on one core and on two.
# Prints the best of several rounds. Wall time tells the speed-up on a machine
# that nobody else uses; twice the ratio of the processor times tells what the
# threads cost each other whatever the load.
# usage: emulator.sh BUILD_DIR [gfx942|gfx950] [ROUNDS]
set -e
build=$1
chip=${2:-gfx942}
rounds=${3:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fp8=f8E4M3FNUZ
test "$chip" = gfx950 && fp8=f8E4M3FN

cat > "$work/rows.mlir" <<EOF
func.func @f(%x: tensor<?x7168xbf16>, %r: tensor<?x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<?x7168x$fp8>, tensor<?x56xf32>, tensor<?x7168xbf16>) {
  %s = hk.add %x, %r : tensor<?x7168xbf16>, tensor<?x7168xbf16> -> tensor<?x7168xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x7168xbf16>, tensor<7168xbf16> -> tensor<?x7168xbf16>
  %q, %scale = hk.quantize per_group %y {amax_floor = 1.0e-10 : f32} : tensor<?x7168xbf16> -> tensor<?x7168x$fp8>, tensor<?x56xf32>
  return %q, %scale, %s : tensor<?x7168x$fp8>, tensor<?x56xf32>, tensor<?x7168xbf16>
}
EOF
cat > "$work/gemm.mlir" <<EOF
func.func @f(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
  %y = hk.matmul %x, %w {transpose_b} : tensor<1024x1024xbf16>, tensor<1024x1024xbf16> -> tensor<1024x1024xbf16>
  return %y : tensor<1024x1024xbf16>
}
EOF
t='tensor<1x1024x8x64xbf16>'
cat > "$work/attention.mlir" <<EOF
func.func @f(%q: $t, %k: $t, %v: $t) -> $t {
  %o = hk.attention %q, %k, %v scale 0.125 : $t, $t, $t -> $t
  return %o : $t
}
EOF

export HK_EMU_CHIP="$chip" HK_HIP_LIBRARY="$build/lib/libhk_emu.so"
for case in rows gemm attention; do
  "$build/bin/hk-compile" "$work/$case.mlir" --target="$chip" -o "$work/$case.so"
  dims=
  test $case = rows && dims="--dim=x.0=512 --dim=r.0=512"
  # In turn, so that both meet the same load of the machine.
  for round in $(seq "$rounds"); do
    for threads in 1 2; do
      HK_EMU_THREADS=$threads HK_EMU_TIMES="$work/times.$threads" \
        "$build/bin/hk-run" "$work/$case.so" --device=hip:0 $dims > /dev/null
    done
  done
  python3 - "$case" "$work/times.1" "$work/times.2" <<'EOF'
import json, sys
best = []
for path in sys.argv[2:]:
    lines = [json.loads(line) for line in open(path)]
    best.append([min(x[k] for x in lines) for k in ("seconds", "cpu_seconds")])
    count = lines[0]["wave_instructions"]
(wall1, cpu1), (wall2, cpu2) = best
print("%-9s %8d wave instructions; one thread %.3f s wall, %.3f s processor; two threads %.3f s wall, %.3f s processor: "
      "%.2f x by wall, %.2f x by processor time" % (sys.argv[1], count, wall1, cpu1, wall2, cpu2, wall1 / wall2, 2 * cpu1 / cpu2))
EOF
  rm -f "$work"/times.*
done
