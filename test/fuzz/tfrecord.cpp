// Parses TFRecord files, and examples by themselves, because no fuzzer finds a checksum.
#include "runtime/data/source/TfRecord.h"
#include "runtime/data/source/Example.h"

#include <cstdlib>
#include <vector>

using namespace gradc::runtime;

static void readExample(std::span<const std::byte> example) {
  for (const char *name : {"image", "box", "label", ""}) {
    auto feature = findFeature(example, name);
    if (!feature)
      continue;
    auto bytes = readBytes(*feature);
    if (bytes.ok() && bytes->size() > example.size())
      std::abort();
    for (size_t count : {1, 2, 3}) {
      std::vector<float> floats(count);
      std::vector<int64_t> integers(count);
      if (readFloats(*feature, floats).ok() && readIntegers(*feature, integers).ok())
        std::abort(); // a list has a single kind
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span file(reinterpret_cast<const std::byte *>(data), size);
  auto offsets = indexTfRecords(file);
  for (uint64_t offset : offsets)
    if (auto record = readTfRecord(file, offset); record.ok())
      readExample(*record);
  readExample(file);
  return 0;
}
