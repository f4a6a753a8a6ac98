# Sourced by ./quickstart and ./check: installs missing Debian packages, configures
# and builds preset `release`. Quiet when fine; a failing step prints its log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/release
packages=(clang-22 mlir-22-tools libmlir-22-dev llvm-22-dev llvm-22-tools lld-22
  libclang-rt-22-dev clang-format-22 clang-tidy-22 cmake ninja-build ccache git
  valgrind libgtest-dev libgmock-dev libdlpack-dev libxxhash-dev nlohmann-json3-dev
  zlib1g-dev libzstd-dev libxml2-dev libedit-dev libcurl4-openssl-dev python3
  python3-numpy python3-venv libprotobuf-dev libonnx-dev openmpi-bin libopenmpi3)

# step NAME COMMAND...: one line of progress; the log is shown when it fails.
step() {
  local name=$1 log start=$SECONDS
  shift
  log=$(mktemp)
  printf '%-28s' "$name"
  if "$@" >"$log" 2>&1; then
    printf 'ok  %4d s\n' $((SECONDS - start))
    rm -f "$log"
  else
    local status=$?
    printf 'FAILED (status %d)\n' "$status"
    tail -n 200 "$log"
    echo "whole log: $log"
    exit "$status"
  fi
}

install_packages() {
  local missing=() p
  for p in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$p")
  done
  ((${#missing[@]})) || return 0
  local sudo=
  ((EUID == 0)) || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq \
    --no-install-recommends "${missing[@]}"
}

step "packages" install_packages
step "configure" cmake --preset release
step "build" cmake --build $build
