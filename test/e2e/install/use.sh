# Uses an installed tree as docs/c-interface.md says: use.sh TREE FOLDER PAGE
set -euo pipefail
tree=$1 folder=$2 page=$3
mkdir -p "$folder"
cd "$folder"
for file in "$tree"/bin/gradc "$tree"/lib/gradc/* "$tree"/lib/libgradc.so; do
  if ldd "$file" | grep -vE 'linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so'; then
    echo "$file needs more"
  fi
done
echo "no library but the C and C++ ones"

blocks() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$page" | grep -v '^```'; }
blocks c > step.c
blocks cmake > CMakeLists.txt
PREFIX=$tree
eval "$(blocks sh)"
./digits --checkpoint run --export trained.onnx | grep "trained to"
echo "without its artifact: $(./step none || true)"
