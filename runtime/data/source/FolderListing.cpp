// Walks folders, and reads list files.
#include "runtime/data/source/FolderListing.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <map>
#include <string_view>
#include <sys/stat.h>

namespace gradc::runtime {

namespace {

// Real folders are not nested deeper; a link to a parent folder would never end.
constexpr int maxDepth = 16;

bool isPicture(std::string_view name) {
  for (std::string_view ending : {".jpg", ".jpeg", ".png"})
    if (name.size() > ending.size() &&
        std::equal(ending.begin(), ending.end(), name.end() - ptrdiff_t(ending.size()),
                   [](char wanted, char found) {
                     return wanted == (found >= 'A' && found <= 'Z' ? char(found + 32) : found);
                   }))
      return true;
  return false;
}

/// Reads the names in the folder, sorted, with folders and other files separate.
Status readNames(const std::string &folder, std::vector<std::string> &folders,
                 std::vector<std::string> &files) {
  DIR *stream = opendir(folder.c_str());
  if (!stream)
    return Status::error(text("cannot read the folder '", folder, "': ", std::strerror(errno)));
  while (dirent *entry = readdir(stream)) {
    std::string name = entry->d_name;
    struct stat status;
    if (name.starts_with('.') || stat(text(folder, '/', name).c_str(), &status))
      continue;
    if (S_ISDIR(status.st_mode))
      folders.push_back(std::move(name));
    else if (isPicture(name))
      files.push_back(std::move(name));
  }
  closedir(stream);
  std::sort(folders.begin(), folders.end());
  std::sort(files.begin(), files.end());
  return {};
}

std::string below(const std::string &inside, const std::string &name) {
  return inside.empty() ? name : text(inside, '/', name);
}

/// Adds all pictures below folder/inside.
Status addPictures(const std::string &folder, const std::string &inside, int depth,
                   std::vector<std::string> &paths) {
  std::vector<std::string> folders, files;
  if (Status status = readNames(text(folder, '/', inside), folders, files); !status.ok())
    return status;
  for (const std::string &file : files)
    paths.push_back(below(inside, file));
  if (depth == maxDepth && !folders.empty())
    return Status::error(text("'", folder, '/', inside, "' has folders in it, expected at most ",
                              maxDepth, " levels of them"));
  for (const std::string &name : folders)
    if (Status status = addPictures(folder, below(inside, name), depth + 1, paths); !status.ok())
      return status;
  return {};
}

/// Assigns numbers to labels: the label's own number, or the index among sorted names. `line` is
/// the line of the first bad label.
Status numberLabels(const std::string &path, const std::vector<std::string_view> &names,
                    PictureListing &listing) {
  bool areNumbers = true;
  for (std::string_view name : names) {
    int64_t label = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), label);
    areNumbers &= error == std::errc() && end == name.data() + name.size();
    if (areNumbers && label < 0)
      return Status::error(text("'", path, "' has label ", label, ", expected 0 or more"));
    if (areNumbers && label == INT64_MAX) // there would be one class more
      return Status::error(
          text("'", path, "' has label ", label, ", expected at most ", label - 1));
    listing.labels.push_back(label);
    listing.classes = areNumbers ? std::max(listing.classes, label + 1) : 0;
  }
  if (areNumbers)
    return {};
  std::vector<std::string_view> classes = names;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  listing.classes = int64_t(classes.size());
  listing.names.assign(classes.begin(), classes.end());
  for (size_t i = 0; i < names.size(); ++i)
    listing.labels[i] =
        std::lower_bound(classes.begin(), classes.end(), names[i]) - classes.begin();
  return {};
}

} // namespace

static std::string_view withoutEnding(std::string_view path) {
  return path.substr(0, path.rfind('.'));
}

Result<std::vector<std::string>> listMasks(const std::string &folder,
                                           const std::vector<std::string> &pictures) {
  std::vector<std::string> files, found;
  if (Status status = addPictures(folder, "", 0, files); !status.ok())
    return status;
  std::map<std::string_view, std::string_view> masks;
  for (const std::string &file : files)
    if (auto [known, isNew] = masks.emplace(withoutEnding(file), file); !isNew)
      return Status::error(text("the folder '", folder, "' has two masks for one picture, '",
                                known->second, "' and '", file, '\''));
  for (const std::string &picture : pictures) {
    auto mask = masks.find(withoutEnding(picture));
    if (mask == masks.end())
      return Status::error(text("the folder '", folder,
                                "' has no mask (.png, .jpg or .jpeg) for the picture '", picture,
                                '\''));
    found.emplace_back(mask->second);
  }
  return found;
}

Result<PictureListing> listFolder(const std::string &folder) {
  std::vector<std::string> folders, files;
  if (Status status = readNames(folder, folders, files); !status.ok())
    return status;
  PictureListing listing;
  for (const std::string &name : folders) {
    if (Status status = addPictures(folder, name, 1, listing.paths); !status.ok())
      return status;
    if (listing.paths.size() == listing.labels.size())
      return Status::error(text("the folder '", folder, '/', name,
                                "' holds no picture (.jpg, .jpeg or .png), expected some of each "
                                "class"));
    listing.labels.resize(listing.paths.size(), listing.classes++);
  }
  if (listing.paths.empty())
    return Status::error(
        text("the folder '", folder, "' has no folders in it, expected one for each class"));
  listing.names = std::move(folders);
  return listing;
}

Result<PictureListing> listPictures(const std::string &folder) {
  PictureListing listing;
  if (Status status = addPictures(folder, "", 0, listing.paths); !status.ok())
    return status;
  listing.labels.resize(listing.paths.size());
  if (listing.paths.empty())
    return Status::error(text("the folder '", folder, "' holds no picture (.jpg, .jpeg or .png)"));
  return listing;
}

Result<PictureListing> readListFile(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::string_view rest(reinterpret_cast<const char *>((*file)->bytes().data()),
                        (*file)->bytes().size());
  PictureListing listing;
  std::vector<std::string_view> names;
  for (int64_t line = 1; !rest.empty(); ++line) {
    std::string_view words = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(words.size() + 1, rest.size()));
    while (!words.empty() && std::strchr(" \t\r", words.back()))
      words.remove_suffix(1);
    if (words.empty() || words.front() == '#')
      continue;
    size_t gap = words.find_last_of(" \t");
    size_t end = gap == words.npos ? gap : words.find_last_not_of(" \t", gap);
    if (end == words.npos)
      return Status::error(
          text(path, ':', line, ": expected a path and a label, found '", words, '\''));
    listing.paths.emplace_back(words.substr(0, end + 1));
    names.push_back(words.substr(gap + 1));
  }
  if (listing.paths.empty())
    return Status::error(text("the list '", path, "' names no picture"));
  if (Status status = numberLabels(path, names, listing); !status.ok())
    return status;
  return listing;
}

} // namespace gradc::runtime
