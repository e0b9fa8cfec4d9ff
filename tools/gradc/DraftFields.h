// Finds which fields of the data feed a model, and which one it should learn.
#ifndef TOOLS_GRADC_DRAFTFIELDS_H
#define TOOLS_GRADC_DRAFTFIELDS_H

#include "tools/gradc/SpecDraft.h"

namespace gradc {

struct DraftParts {
  std::string source;                                     ///< the kind's block
  std::vector<std::pair<std::string, std::string>> feeds; ///< graph inputs and their fields
  std::vector<std::string> maps;                          ///< stages, each with its comment
  std::vector<std::string> notes;                         ///< what else might be meant
  LookedField target;                                     ///< no name: the model computes its loss
  bool standardizes = false;
};

runtime::Result<DraftParts> findTableParts(const DraftModel &model, const LookedData &data,
                                           const std::string &path);
runtime::Result<DraftParts> findArrayParts(const DraftModel &model, const LookedData &data,
                                           const std::string &path);
runtime::Result<DraftParts> findPictureParts(const DraftModel &model, const LookedData &data,
                                             const std::string &path);

/// As a string of a spec.
std::string inQuotes(std::string_view text);
/// Whether fields of that name are usually what is learned.
bool isTargetName(std::string_view name);
/// "graph input "x" f32 [N, 8]" and all fields, for errors.
runtime::Status doesNotFit(const DraftPort &port, const LookedData &data, std::string_view why);

} // namespace gradc

#endif
