// Hand-written data files, and data sets over them.
#ifndef TEST_UNIT_RUNTIME_DATA_DATATESTING_H
#define TEST_UNIT_RUNTIME_DATA_DATATESTING_H

#include "runtime/data/chain/Chain.h"
#include "test/unit/runtime/JobText.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gradc::runtime::test {

/// While it lives, this process can allocate `bytes` more, files that it maps included.
class MemoryLimit {
public:
  /// Sanitizers need address space of their own, and end a program that runs out of it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool works = false;
#elif defined(__has_feature)
  static constexpr bool works =
      !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
  static constexpr bool works = true;
#endif
  explicit MemoryLimit(size_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit &) = delete;

private:
  rlimit before;
};

/// A .npy array of raw bytes. `descr` and `shape` are written as in its header: "<f4", "(3, 4)".
Bytes npy(std::string_view descr, std::string_view shape, const Bytes &data,
          std::string_view fortran = "False");

struct Member {
  std::string name;
  Bytes content;
  bool deflated = false;
  bool zip64 = false;
};
Bytes zip(const std::vector<Member> &members);

/// A gzip file.
Bytes gzip(const Bytes &content);

/// Two fields of `rows` rows: images u8 [2, 2], whose values are 4 * row + 0..3 (mod 256), and
/// labels i64 (row mod 10).
std::vector<Member> digits(int64_t rows);

/// The model's demands for them: images f32 (fed to x), and labels i64 of 10 classes.
std::vector<Demand> digitsDemands();

/// Builds the data set of a `data` block over digits.npz in the folder.
Result<std::shared_ptr<const Dataset>> build(std::string_view data, const DataContext &context);
/// The message of a data set that cannot be built.
std::string buildError(std::string_view data, const DataContext &context);

/// The message of a data set whose first batch cannot be filled.
std::string batchError(std::string_view data, const DataContext &context);

/// A field of all rows of a data set's first batch.
template <typename T>
std::vector<T> firstBatch(std::string_view data, const DataContext &context, size_t field = 0) {
  auto dataset = build(data, context);
  EXPECT_TRUE(dataset.ok()) << dataset.status().message();
  if (!dataset)
    return {};
  Batch batch = (*dataset)->allocate();
  Status status = (*dataset)->iterate()->next(batch);
  EXPECT_TRUE(status.ok()) << status.message();
  auto *values = reinterpret_cast<const T *>(batch.field(field));
  return {values, values + (*dataset)->fields()[field].elements() * size_t(batch.rows)};
}

/// Identifies a batch without labels: the first pixels of its rows, and the position after it.
std::vector<float> firstPixels(const Batch &batch);

} // namespace gradc::runtime::test

#endif
