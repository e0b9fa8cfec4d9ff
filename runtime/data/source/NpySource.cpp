// Fields from .npy files, one array per file.
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc::runtime {

static Result<SourceArray> readNpy(std::string name, std::shared_ptr<const MappedFile> file,
                                   std::string_view what) {
  return makeSourceArray(std::move(name), file->bytes(), file, what);
}

static Result<SourceArray> describeFile(std::string name, std::shared_ptr<const MappedFile> file,
                                        std::string_view what) {
  return describeSourceArray(std::move(name), file->bytes(), what, file->bytes().size());
}

Status applyNpy(Config config, const DataContext &context, Pipeline &pipeline) {
  return applyFiles(config, context, pipeline, "the npy source", readNpy);
}

Status describeNpy(Config config, const DataContext &context, Pipeline &pipeline) {
  return describeFiles(config, context, pipeline, "npy", describeFile);
}

} // namespace gradc::runtime
