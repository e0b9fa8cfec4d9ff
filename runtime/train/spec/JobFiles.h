// The files that a job reads, and the paths of those that it writes.
#ifndef RUNTIME_TRAIN_SPEC_JOBFILES_H
#define RUNTIME_TRAIN_SPEC_JOBFILES_H

#include "runtime/base/Status.h"
#include "runtime/core/artifact/Config.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradc::runtime {

/// The path of an output, which the spec gives relative to itself. `option`: the command-line
/// option that replaces it, for messages.
Result<std::string> pathOfSpec(Config spec, std::string_view path, std::string_view option);

/// The first bytes of a checkpoint.
inline constexpr std::string_view checkpointMagic = "GRADCCKP";
bool isCheckpoint(const std::string &path);

/// Fails if `output` is one of `inputs`, this program, or any checkpoint, which may be hours of
/// work.
Status expectNoInput(const std::string &output, std::span<const std::string> inputs);

/// The existing files that a job reads: data, the model, and the files of the model's external
/// tensors.
std::vector<std::string> filesOfJob(Config spec, std::span<const std::string> dataFolders);
/// The same, with the program, the spec and the files that were compiled in, such as a teacher's
/// model: what no output may replace.
std::vector<std::string> filesToKeep(Config spec, std::span<const std::string> dataFolders,
                                     const std::string &program);

/// Fails if two outputs of a run are one file. `outputs`: the option of each, and its path.
Status expectDifferent(std::initializer_list<std::pair<const char *, const std::string *>> outputs);

/// "run-NAME.jsonl" for "run.jsonl".
std::string pathOfVariant(const std::string &path, const std::string &variant);

} // namespace gradc::runtime

#endif
