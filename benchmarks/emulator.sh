#!/bin/sh
# Speed of the emulator on one core with every check on: a reduction (row-wise
# work) and a bf16 matrix product through LDS. Prints wave instructions and
# seconds per kernel.  usage: emulator.sh BUILD_DIR [gfx942|gfx950]
set -e
build=$1
chip=${2:-gfx942}
source=$(dirname "$0")/../test/Emulator/kernels
object=$(mktemp)
trap 'rm -f "$object"' EXIT
"${CLANG:-clang++-22}" -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib \
  -O3 --offload-arch="$chip" -I"$source" "$source/mutate.hip" -o "$object"
export HK_EMU_THREADS=1
echo "reduce, 4M elements"
"$build/bin/hk-emu" "$object" --run=reduce --no-counters --block=256 \
  --arg=out:1024 --arg=zero:16777216 --arg=i64:0 --arg=i32:4194304
echo "tiles, 64 x 64 x 32768 bf16"
"$build/bin/hk-emu" "$object" --run=tiles --no-counters --block=256 \
  --arg=out:16384 --arg=zero:4194304 --arg=zero:4194304 --arg=i32:32768
