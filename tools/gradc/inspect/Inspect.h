// The output of `gradc inspect`, by kind of file.
#ifndef TOOLS_GRADC_INSPECT_INSPECT_H
#define TOOLS_GRADC_INSPECT_INSPECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gradc {

struct InspectedTensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
  int64_t bytes;
};

/// Prints one line per tensor, then their number and total bytes.
void printTensors(const char *title, llvm::ArrayRef<InspectedTensor> tensors);

/// These print a description and return the exit code.
int inspectArtifact(const std::string &path);
int inspectCheckpoint(const std::string &path);
int inspectNpy(const std::string &path, std::span<const std::byte> bytes);
int inspectNpz(const std::string &path, std::span<const std::byte> bytes);
int inspectIdx(const std::string &path, std::span<const std::byte> bytes);
int inspectTable(const std::string &path, llvm::StringRef content);

/// Reports that a file is not what it is expected to be, such as "a Parquet table", and what it is;
/// returns the exit code.
int failForKind(llvm::StringRef path, llvm::StringRef expected, llvm::StringRef bytes);

} // namespace gradc

#endif
