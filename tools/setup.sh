# Installs what gradc's build needs (Debian packages, only when some are missing), configures, builds.
# Sourced by quickstart and check, which run from the repository's root.

packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22 liblld-22-dev
  libclang-rt-22-dev clang-format-22
  libprotobuf-dev protobuf-compiler libcli11-dev libfmt-dev nlohmann-json3-dev
  openmpi-bin libopenmpi-dev
  zlib1g-dev libzstd-dev libjpeg62-turbo-dev libpng-dev libgtest-dev libgmock-dev libonnx-testdata
  cmake ninja-build ccache g++ python3 python3-dev python3-cffi python3-numpy pkgconf
)

install_packages() {
  local installed missing=() package
  installed=$(dpkg-query -W -f='${Package}=${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    grep -qx "$package=installed" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing: ${missing[*]}"
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# build PRESET [TARGET...]: configures once; afterwards ninja notices what changed.
build() {
  local preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
  ninja -C "build/$preset" "$@"
}
