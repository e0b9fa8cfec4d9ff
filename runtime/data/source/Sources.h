// The sources that a spec's `data` block may name, and how they open their files.
#ifndef RUNTIME_DATA_SOURCE_SOURCES_H
#define RUNTIME_DATA_SOURCE_SOURCES_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc::runtime {

/// Each source: its name in specs, its name in functions, and an example of its path; "" if each of
/// its fields has its own path.
#define GRADC_DATA_SOURCES(SOURCE)                                                                 \
  SOURCE(npz, Npz, "data.npz")                                                                     \
  SOURCE(npy, Npy, "")                                                                             \
  SOURCE(csv, Csv, "data.csv")                                                                     \
  SOURCE(idx, Idx, "")                                                                             \
  SOURCE(tokens, Tokens, "text.bin")                                                               \
  SOURCE(folder, Folder, "pictures")                                                               \
  SOURCE(tfrecord, TfRecord, "train.tfrecord")

// apply... makes the table of a source's rows, as a run reads them. describe... makes a table whose
// rows are never read, or null if the fields are in files that do not exist yet. A trainer calls no
// describe function, so its linker drops them. Hence there are two functions per source, and two
// tables that each use one of them.
#define GRADC_DECLARE_SOURCE(NAME, FUNCTION, EXAMPLE)                                              \
  Status apply##FUNCTION(Config config, const DataContext &context, Pipeline &pipeline);           \
  Status describe##FUNCTION(Config config, const DataContext &context, Pipeline &pipeline);
GRADC_DATA_SOURCES(GRADC_DECLARE_SOURCE)
#undef GRADC_DECLARE_SOURCE

// Few jobs have these: null in the smaller runner and, for pictures, without decoders.
__attribute__((weak)) Status applyFolder(Config config, const DataContext &context,
                                         Pipeline &pipeline);
__attribute__((weak)) Status describeFolder(Config config, const DataContext &context,
                                            Pipeline &pipeline);
__attribute__((weak)) Status applyTokens(Config config, const DataContext &context,
                                         Pipeline &pipeline);
__attribute__((weak)) Status describeTokens(Config config, const DataContext &context,
                                            Pipeline &pipeline);
__attribute__((weak)) Status applyTfRecord(Config config, const DataContext &context,
                                           Pipeline &pipeline);
__attribute__((weak)) Status describeTfRecord(Config config, const DataContext &context,
                                              Pipeline &pipeline);

/// A data file of a source's block, located and mapped.
struct OpenFile {
  std::string path;
  std::shared_ptr<const MappedFile> file;
};
Result<OpenFile> openFile(std::string_view path, const DataContext &context);

/// A table with known fields, rows, and origin, but no data.
std::shared_ptr<const Table> makeDescribed(std::vector<Field> fields, int64_t rows,
                                           std::string origin);

} // namespace gradc::runtime

#endif
