// Visits rows in random order, newly drawn for each epoch.
#include "runtime/base/Text.h"
#include "runtime/data/Random.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

/// Uniform over all orders (Fisher-Yates).
void shuffleAll(std::vector<int64_t> &rows, Random &random) {
  for (size_t left = rows.size(); left > 1; --left)
    std::swap(rows[left - 1], rows[random.below(left)]);
}

/// Equivalent to drawing from a buffer of `size` rows: each place receives a row drawn from the
/// next `size` rows, and the row that was there stays in the buffer.
void shuffleThroughBuffer(std::vector<int64_t> &rows, size_t size, Random &random) {
  std::vector<int64_t> buffer(rows.begin(), rows.begin() + ptrdiff_t(size));
  for (size_t place = 0; place < rows.size(); ++place) {
    size_t drawn = random.below(buffer.size());
    size_t incoming = place + size;
    int64_t row = buffer[drawn];
    if (incoming < rows.size()) {
      buffer[drawn] = rows[incoming];
    } else {
      buffer[drawn] = buffer.back();
      buffer.pop_back();
    }
    rows[place] = row;
  }
}

class Shuffle final : public TableStage {
public:
  Shuffle(std::shared_ptr<const Table> input, size_t buffer, uint64_t seed)
      : TableStage(std::move(input)), buffer(buffer), seed(seed) {}

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    Random random(seed, epoch);
    if (buffer == 0 || buffer >= rows.size())
      shuffleAll(rows, random);
    else
      shuffleThroughBuffer(rows, buffer, random);
  }

private:
  size_t buffer;
  uint64_t seed;
};

} // namespace

Status applyShuffle(Config config, const DataContext &context, Pipeline &pipeline) {
  int64_t buffer = config.integer("buffer", 0);
  if (buffer < 0)
    return Status::invalid(text("shuffle { buffer } is ", buffer, ", expected 0 (all) or more"));
  pipeline.table = std::make_shared<Shuffle>(pipeline.table, size_t(buffer), context.seed);
  return {};
}

} // namespace gradc::runtime
