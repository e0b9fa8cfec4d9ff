// TFRecord files with tf.train.Examples, for tests.
#ifndef TEST_UNIT_RUNTIME_DATA_RECORDS_H
#define TEST_UNIT_RUNTIME_DATA_RECORDS_H

#include "test/unit/runtime/data/DataTesting.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gradc::runtime::test {

Bytes tfRecords(const std::vector<Bytes> &records);

/// Encoded features, and the example that contains them by name.
Bytes bytesFeature(const std::vector<Bytes> &values);
Bytes floatsFeature(const std::vector<float> &values, bool packed = true);
Bytes integersFeature(const std::vector<int64_t> &values, bool packed = true);
Bytes encodeExample(const std::vector<std::pair<std::string, Bytes>> &features);

} // namespace gradc::runtime::test

#endif
