// A small artifact with every feature of a session, on kernels written in C.
#ifndef TEST_UNIT_RUNTIME_TESTMODEL_H
#define TEST_UNIT_RUNTIME_TESTMODEL_H

#include "test/unit/runtime/ArtifactBuilder.h"

#include <optional>

namespace gradc::runtime::test {

struct TestModelOptions {
  std::vector<std::string> levels = {"x86-64-v3"};
  std::string image = GRADC_TEST_KERNELS;
  float weightStart = 1;    ///< the weight is weightStart + its element's number
  std::string lacking = {}; ///< an entry or kernel symbol to damage, for the checks
  int64_t grain = 4;        ///< of the kernels that split
  bool labels = false;      ///< with an entry that takes labels
  bool anyRows = false;     ///< with an entry that takes any number of rows
  int64_t leastRows = 0;    ///< of that entry
  bool bucket = false;      ///< and another that runs in its place on up to 4 rows
  bool checks = false;      ///< and the former alone checks indices (to be loaded, not run)
  std::optional<gradc_artifact_call> call = {}; ///< that runs instead of train's first kernel
};

/// States: "total" f32[64, 16], a slot of zeros; "weight" f32[6, 4], packed, with a row-major
/// mirror; "unused" f32[3], which no entry touches. Entries, each over input x f32[64, 16]:
///   train     total += 2 x + row; loss = sum(2 x + row); doubled = 2 x + row
///   invert    out = 1 / (2 x + row - 3)
///   weigh     no input; out = the sum of the packed weight and its mirror
///   tiny      out = x * 1e-39
///   identity  out = x, without a launch
///   classify  no output, with input labels i32[64] of 10 classes (where asked for)
///   some      out = 2 x + row and loss = the mean of its rows' sums, of 0 to 64 rows; a bucket's
///             out = 2 (2 x + row) + row (both if asked for)
///   pack:weight, unpack:weight  without a batch
Bytes makeTestModel(const TestModelOptions &options = {});

} // namespace gradc::runtime::test

#endif
