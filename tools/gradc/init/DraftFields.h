// Determines which fields of the data feed a model, and which field the model should learn.
#ifndef TOOLS_GRADC_INIT_DRAFTFIELDS_H
#define TOOLS_GRADC_INIT_DRAFTFIELDS_H

#include "tools/gradc/init/SpecDraft.h"

#include <map>

namespace gradc {

struct DraftParts {
  std::string source;                                     ///< the kind's block
  std::vector<std::pair<std::string, std::string>> feeds; ///< graph inputs and their fields
  std::vector<std::string> maps;                          ///< stages, each with its comment
  std::vector<std::string> notes;                         ///< what else might be meant
  LookedField target;                                     ///< no name: the model computes its loss
  std::map<std::string, int64_t> extents;                 ///< in the data, by the model's symbols
  std::map<std::string, std::vector<int64_t>> rowShapes;  ///< [input] as the data feed it
  int64_t rows = 0;                                       ///< of the source
  bool standardizes = false;
};

runtime::Result<DraftParts> findTableParts(const DraftModel &model, const LookedData &data,
                                           const std::string &path);
runtime::Result<DraftParts> findArrayParts(const DraftModel &model, const LookedData &data,
                                           const std::string &path);
runtime::Result<DraftParts> findPictureParts(const DraftModel &model, const LookedData &data,
                                             const std::string &path);

/// The text as a string literal of a spec.
std::string inQuotes(std::string_view text);
/// Whether a field of that name is usually a target.
bool isTargetName(std::string_view name);
/// The error that lists "graph input "x" f32 [N, 8]" and all fields.
runtime::Status doesNotFit(const DraftPort &port, const LookedData &data, std::string_view why);

} // namespace gradc

#endif
