// The names of classes that a source numbers. They are part of a run's knowledge of its data, so
// checkpoints contain them.
#ifndef RUNTIME_DATA_CLASSNAMES_H
#define RUNTIME_DATA_CLASSNAMES_H

#include "runtime/data/Pipeline.h"

namespace gradc::runtime {

/// The names of a field's classes, indexed by number; empty if no names are known.
std::vector<std::string> classNames(const DataState &state, std::string_view field);

/// The key of a class number in the state.
std::string keyOfClass(std::string_view field, std::string_view name);

/// Renumbers labels that index `names` to the run's numbering: by the names in the state, which are
/// those of the training data. If the state has no names, it takes these.
Status numberClasses(DataState &state, std::string_view field, std::span<const std::string> names,
                     const std::string &origin, std::vector<int64_t> &labels);

} // namespace gradc::runtime

#endif
