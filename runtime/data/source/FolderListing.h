// The pictures in a folder, and the class of each.
#ifndef RUNTIME_DATA_SOURCE_FOLDERLISTING_H
#define RUNTIME_DATA_SOURCE_FOLDERLISTING_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradc::runtime {

struct PictureListing {
  std::vector<std::string> paths; ///< below the folder
  std::vector<int64_t> labels;
  int64_t classes = 0;
  std::vector<std::string> names = {}; ///< of the classes; none: they are numbers
};

/// The classes are the sub-folders, numbered in the order of their names. Their pictures (.jpg,
/// .jpeg, .png; at any depth) follow class by class, in the order of their names. Names that begin
/// with a dot, and other files, are skipped.
Result<PictureListing> listFolder(const std::string &folder);

/// The same pictures and those outside sub-folders, without classes.
Result<PictureListing> listPictures(const std::string &folder);

/// Each line is a path below the folder and a label, separated by spaces or a tab. Labels are
/// numbers (0, 1, ...) or, if any label is not a number, class names, which are numbered in the
/// order of the names. Empty lines and lines that begin with # are skipped.
Result<PictureListing> readListFile(const std::string &path);

/// The mask of each picture, below the folder of masks: the file of the same path, but for its
/// ending.
Result<std::vector<std::string>> listMasks(const std::string &folder,
                                           const std::vector<std::string> &pictures);

} // namespace gradc::runtime

#endif
