// Measures stages by nested scopes: a stage's scope contains the scopes of the stages it reads
// from.
#include "runtime/data/Meter.h"

#include "runtime/data/Dataset.h"

#include <chrono>

namespace gradc::runtime {

int64_t Meter::now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Meter::Scope::begin(uint32_t counted, size_t howMany) {
  stage = counted;
  rows = int64_t(howMany);
  innerBefore = meter->inner;
  meter->inner = 0;
  started = now();
}

void Meter::Scope::end() {
  int64_t ended = now(), elapsed = ended - started;
  if (stage >= meter->totals.size())
    meter->totals.resize(stage + 1);
  meter->totals[stage].nanoseconds += elapsed - meter->inner;
  meter->totals[stage].rows += rows;
  meter->inner = innerBefore + elapsed;
  if (meter->keepsSpans)
    meter->spans.push_back({stage, started, ended});
}

namespace {

class Metered final : public TableStage {
public:
  Metered(std::shared_ptr<const Table> input, uint32_t stage)
      : TableStage(std::move(input)), stage(stage) {}

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    Meter::Scope scope(scratch.meter(), stage, 1);
    return input->view(field, row, scratch);
  }
  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    Meter::Scope scope(scratch.meter(), stage, rows.rows.size());
    return input->read(field, rows, scratch, out);
  }

  using TableStage::input;

private:
  uint32_t stage;
};

} // namespace

std::shared_ptr<const Table> makeMetered(std::shared_ptr<const Table> table, uint32_t stage) {
  return std::make_shared<Metered>(std::move(table), stage);
}

std::shared_ptr<const Table> withoutMeter(const std::shared_ptr<const Table> &table) {
  auto metered = dynamic_cast<const Metered *>(table.get());
  return metered ? metered->input : nullptr;
}

} // namespace gradc::runtime
