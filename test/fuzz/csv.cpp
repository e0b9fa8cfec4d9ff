// Parses arbitrary bytes as a CSV table. The first byte selects the options.
#include "runtime/data/source/CsvReader.h"

using namespace gradc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  unsigned how = data[0];
  std::vector<CsvField> fields(2);
  fields[0].name = "a";
  fields[0].columns = {how & 1 ? "a*" : "a"};
  fields[0].dtype = how & 2 ? GRADC_F32 : how & 4 ? GRADC_I64 : GRADC_F64;
  fields[1].name = "b";
  fields[1].columns = {"b"};
  fields[1].dtype = GRADC_I32;
  if (how & 8)
    fields[1].missing = {-1};
  fields.resize(how & 16 ? 1 : 2);
  CsvOptions options;
  options.delimiter = how & 32 ? ';' : ',';
  options.maxBytes = 1 << 24;
  auto arrays =
      readCsv({reinterpret_cast<const std::byte *>(data + 1), size - 1}, "f.csv", fields, options);
  // Checks that everything read is valid memory.
  unsigned sum = 0;
  if (arrays)
    for (const SourceArray &array : *arrays)
      for (size_t i = 0, bytes = array.field.bytes() * size_t(array.rows); i < bytes; ++i)
        sum += unsigned(array.data[i]);
  return sum == ~0u;
}
