// In place of the csv source in programs whose jobs read no tables: the linker then leaves out what
// reads them.
#include "runtime/data/source/Sources.h"

namespace gradc::runtime {

Status applyCsv(Config, const DataContext &, Pipeline &) {
  return Status::invalid("this program reads no tables: compile the job again");
}

} // namespace gradc::runtime
