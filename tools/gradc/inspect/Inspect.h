// The output of `gradc inspect`, by kind of file.
#ifndef TOOLS_GRADC_INSPECT_INSPECT_H
#define TOOLS_GRADC_INSPECT_INSPECT_H

#include "llvm/ADT/ArrayRef.h"
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

} // namespace gradc

#endif
