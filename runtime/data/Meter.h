// Measures the time of each stage, without the stages before it.
#ifndef RUNTIME_DATA_METER_H
#define RUNTIME_DATA_METER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gradc::runtime {

class Table;

/// The meter of one thread, part of its scratch. When off, it costs one test.
class Meter {
public:
  struct Total {
    int64_t nanoseconds = 0, rows = 0;
  };
  struct Span {
    uint32_t stage;
    int64_t begin, end;
  };

  bool isOn = false, keepsSpans = false;
  std::vector<Total> totals; ///< [stage]
  std::vector<Span> spans;

  static int64_t now();

  /// Adds the time of its lifetime to a stage.
  class Scope {
  public:
    Scope(Meter &meter, uint32_t stage, size_t rows) : meter(meter.isOn ? &meter : nullptr) {
      if (this->meter)
        begin(stage, rows);
    }
    ~Scope() {
      if (meter)
        end();
    }
    Scope(const Scope &) = delete;

  private:
    void begin(uint32_t stage, size_t rows);
    void end();

    Meter *meter;
    uint32_t stage = 0;
    int64_t rows = 0, started = 0, innerBefore = 0;
  };

private:
  int64_t inner = 0; ///< nanoseconds in scopes within the current one
};

/// The table with a scope around each of its reads.
std::shared_ptr<const Table> makeMetered(std::shared_ptr<const Table> table, uint32_t stage);
/// The table inside the scope; null if there is no scope.
std::shared_ptr<const Table> withoutMeter(const std::shared_ptr<const Table> &table);

} // namespace gradc::runtime

#endif
