// Most formats begin with a signature; text and empty files are recognized by their characters.
#include "compiler/import/support/FileKind.h"

#include "runtime/include/gradc/artifact.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

std::string gradc::fileKind(StringRef bytes) {
  static constexpr std::pair<StringRef, const char *> signatures[] = {
      {"\177ELF", "an executable or shared library (ELF)"},
      {GRADC_ARTIFACT_MAGIC, "a gradc artifact"},
      {"GRADCCKP", "a checkpoint"},
      {"\x93NUMPY", "a .npy array"},
      {"PK\x03\x04", "a zip archive, such as .npz"},
      {"PK\x05\x06", "a zip archive, such as .npz"},
      {"\x1f\x8b", "a gzip file"},
      {"\x89PNG", "a PNG picture"},
      {"\xff\xd8\xff", "a JPEG picture"},
      {"\x89HDF", "an HDF5 file"},
  };
  if (bytes.empty())
    return "an empty file";
  for (auto [signature, kind] : signatures)
    if (bytes.starts_with(signature))
      return kind;
  bool isText = llvm::all_of(bytes.take_front(4096), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t' || c == '\r';
  });
  return isText ? "a text file" : "";
}
