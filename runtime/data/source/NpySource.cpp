// Fields from .npy files, one array each.
#include "runtime/data/Stages.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc::runtime {

Status applyNpy(Config config, const DataContext &context, Pipeline &pipeline) {
  auto read = [](std::string name, std::shared_ptr<const MappedFile> file, std::string_view what) {
    return makeSourceArray(std::move(name), file->bytes(), file, what);
  };
  return applyFiles(config, context, pipeline, "the npy source", read);
}

} // namespace gradc::runtime
