// The names of classes that a source numbers: part of a run's knowledge of its data, so that
// checkpoints carry them.
#ifndef RUNTIME_DATA_CLASSNAMES_H
#define RUNTIME_DATA_CLASSNAMES_H

#include "runtime/data/Pipeline.h"

namespace gradc::runtime {

/// The names of a field's classes, by their numbers; empty: none are known.
std::vector<std::string> classNames(const DataState &state, std::string_view field);

/// Where the state has the number of a class.
std::string keyOfClass(std::string_view field, std::string_view name);

/// Makes labels that count `names` count as the run does: by the names that the state has, which
/// are those of the training data. A state without any takes these.
Status numberClasses(DataState &state, std::string_view field, std::span<const std::string> names,
                     const std::string &origin, std::vector<int64_t> &labels);

} // namespace gradc::runtime

#endif
