// What is known of a data set without reading its rows: its fields and how many rows it has.
//
// The compiler asks this (include/gradc/data.h). The answer comes from the same sources and stages
// that a run builds its data set of; only a source that would read its rows has a function of its
// own here, which looks at headers alone. No trainer links Describe.cpp, so that what only it uses
// is in none.
#ifndef RUNTIME_DATA_DESCRIBE_H
#define RUNTIME_DATA_DESCRIBE_H

#include "runtime/data/Stages.h"

namespace gradc::runtime {

/// A table of which only fields, rows and origin are known.
std::shared_ptr<const Table> makeDescribed(std::vector<Field> fields, int64_t rows,
                                           std::string origin);

// Each makes a table whose rows are never read; none (null) where the fields are in files that are
// not there yet.
Status describeNpz(Config config, const DataContext &context, Pipeline &pipeline);
Status describeNpy(Config config, const DataContext &context, Pipeline &pipeline);
Status describeIdx(Config config, const DataContext &context, Pipeline &pipeline);
Status describeCsv(Config config, const DataContext &context, Pipeline &pipeline);
Status describeTokens(Config config, const DataContext &context, Pipeline &pipeline);
Status describeTfRecord(Config config, const DataContext &context, Pipeline &pipeline);
/// Null in a program without decoders.
__attribute__((weak)) Status describeFolder(Config config, const DataContext &context,
                                            Pipeline &pipeline);

} // namespace gradc::runtime

#endif
