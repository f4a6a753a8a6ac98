#!/bin/sh
# Speed of the emulator with every check on: a fused row-wise kernel, a bf16
# matrix product and flash attention of hk itself, on one core and on two.
# Prints wave instructions and processor seconds of each launch; processor time,
# because wall time says little on a machine that is used by others.
# usage: emulator.sh BUILD_DIR [gfx942|gfx950]
set -e
build=$1
chip=${2:-gfx942}
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
  for threads in 1 2; do
    HK_EMU_THREADS=$threads HK_EMU_TIMES="$work/times" \
      "$build/bin/hk-run" "$work/$case.so" --device=hip:0 $dims > /dev/null
    printf '%s on %s thread(s): ' $case $threads
    tail -n 1 "$work/times"
  done
done
