# Uses an installed tree: use.sh TREE FOLDER CC
set -euo pipefail
tree=$1 folder=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
cd "$folder"
gradc=$tree/bin/gradc
for file in "$gradc" "$tree"/lib/gradc/* "$tree"/lib/libgradc.so; do
  if ldd "$file" | grep -vE 'linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so'; then
    echo "$file needs more"
  fi
done
echo "no library but the C and C++ ones"

"$gradc" compile "$tree/share/doc/gradc/examples/digits/train.textproto" -o digits
./digits --checkpoint run --export trained.onnx | grep "trained to"
"$gradc" compile "$tree/share/doc/gradc/examples/digits/train.textproto" --emit=so -o digits.so

PKG_CONFIG_PATH=$tree/lib/pkgconfig
export PKG_CONFIG_PATH
$cc "$here/step.c" $(pkg-config --cflags --libs gradc) -Wl,-rpath,"$tree/lib" -o by-pkg-config
cmake -S "$here" -B by-cmake -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_C_COMPILER="$cc" > cmake.log
cmake --build by-cmake >> cmake.log
echo "pkg-config: $(./by-pkg-config digits)"
echo "cmake: $(by-cmake/step digits.so)"
echo "built by either, a program without its artifact says: $(by-cmake/step none 2>&1)"
