// Pictures in a folder, as files, with their classes.
#include "runtime/base/Text.h"
#include "runtime/data/ClassNames.h"
#include "runtime/data/Provenance.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/FolderListing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

namespace {

/// Reads the whole file into the slot.
Result<Value> readFile(const std::string &path, ScratchSlot &slot) {
  // Does not wait for the writer of a pipe; pipes are refused.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return Status::error(text("cannot be read: ", std::strerror(errno)));
  struct stat status;
  if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return Status::error("cannot be read: not a regular file");
  }
  auto size = size_t(status.st_size), done = size_t(0);
  auto bytes = slot.tryReserve(std::max<size_t>(size, 1));
  ssize_t count = 1;
  while (bytes && done < size && count > 0) {
    count = read(descriptor, *bytes + done, size - done);
    done += count > 0 ? size_t(count) : 0;
  }
  int code = errno;
  close(descriptor);
  if (!bytes)
    return bytes.status();
  if (count < 0)
    return Status::error(text("cannot be read: ", std::strerror(code)));
  slot.shape = {int64_t(done)};
  return Value{*bytes, slot.shape, done};
}

class FolderSource final : public Table {
public:
  /// `masks`: the files of the last field; none: there is no such field.
  FolderSource(std::string folder, PictureListing listing, std::vector<std::string> masks,
               std::vector<Field> fields, size_t slot)
      : folder(std::move(folder)), listing(std::move(listing)), masks(std::move(masks)),
        fieldList(std::move(fields)), slot(slot) {}

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override { return int64_t(listing.paths.size()); }
  std::string origin() const override { return text('\'', folder, '\''); }
  std::string describeRow(int64_t row, size_t field) const override {
    return text('\'', path(row, field), '\'');
  }

  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(listing.paths.size());
    std::iota(rows.begin(), rows.end(), 0);
  }

  const std::byte *column(size_t field) const override {
    return isPicture(field) ? nullptr : reinterpret_cast<const std::byte *>(listing.labels.data());
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    if (!isPicture(field))
      return Value{column(field) + size_t(row.row) * sizeof(int64_t), {}, sizeof(int64_t)};
    std::string of = path(row.row, field);
    auto file = readFile(of, scratch.slot(slot + isMask(field)));
    if (!file)
      return Status(file.status().code(), text('\'', of, "' ", file.status().message()));
    return file;
  }

private:
  bool isPicture(size_t field) const { return fieldList[field].dtype == GRADC_U8; }
  bool isMask(size_t field) const { return !masks.empty() && field + 1 == fieldList.size(); }
  std::string path(int64_t row, size_t field) const {
    return isMask(field) ? masks[size_t(row)] : text(folder, '/', listing.paths[size_t(row)]);
  }

  std::string folder;
  PictureListing listing;
  std::vector<std::string> masks;
  std::vector<Field> fieldList;
  size_t slot; ///< for a file's bytes, and the next one for a mask's
};

bool isFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Lists a single picture; `path` becomes its folder.
PictureListing listOne(std::string &path) {
  size_t name = path.rfind('/') + 1;
  PictureListing listing{{path.substr(name)}, {0}};
  path = name == 0 ? "." : path.substr(0, name - 1);
  return listing;
}

} // namespace

/// A kind of field, for messages, and the setting that names it.
static std::pair<std::string_view, std::string_view> roleOf(const Field &field) {
  if (field.dtype == GRADC_I64)
    return {"labels", "label"};
  return field.maskOf.empty() ? std::pair("pictures", "image") : std::pair("masks", "mask");
}

static Status expectTwoNames(Config config, std::span<const Field> fields,
                             const DataContext &context) {
  for (size_t i = 0; i < fields.size(); ++i)
    for (size_t k = i + 1; k < fields.size(); ++k) {
      if (fields[i].name != fields[k].name)
        continue;
      auto [first, firstKey] = roleOf(fields[i]);
      auto [second, secondKey] = roleOf(fields[k]);
      Config named = config.child(secondKey);
      return context.wrong(named ? named : config.child(firstKey),
                           text("folder gives the name '", fields[i].name, "' to its ", first,
                                " and its ", second, ": write ", firstKey, " or ", secondKey,
                                " with another one"));
    }
  return {};
}

/// The fields: a picture file's bytes, its label, and if there are masks, the bytes of its mask.
/// Pictures with masks have labels only if the block names them, as their folders need no classes.
static Result<std::vector<Field>> readFields(Config config, const DataContext &context) {
  std::vector<Field> fields = {
      {std::string(config.string("image", "image")), GRADC_U8, {Field::varying}, 0}};
  bool hasMasks = bool(config.child("masks"));
  if (!hasMasks || config.child("label"))
    fields.push_back({std::string(config.string("label", "label")), GRADC_I64, {}, 0});
  if (hasMasks) {
    fields.push_back({std::string(config.string("mask", "mask")), GRADC_U8, {Field::varying}, 0});
    fields.back().maskOf = fields.front().name;
  } else if (Config mask = config.child("mask")) {
    return context.wrong(mask, text("folder { mask } names a field '", mask.string(),
                                    "' of masks, but there is no folder of masks: add masks: "
                                    "\"masks\""));
  }
  if (Status status = expectTwoNames(config, fields, context); !status.ok())
    return status;
  return fields;
}

/// The paths of the pictures' masks; empty if no one uses them.
static Result<std::vector<std::string>> findMasks(Config config, std::span<const Field> fields,
                                                  const std::vector<std::string> &pictures,
                                                  const DataContext &context) {
  std::vector<std::string> masks;
  if (!config.child("masks") || !isDemanded(fields.back().name, context))
    return masks;
  auto folder = findFile(config.string("masks"), context.folders);
  if (!folder)
    return folder.status();
  auto names = listMasks(*folder, pictures);
  if (!names)
    return names.status();
  for (const std::string &name : *names)
    masks.push_back(text(*folder, '/', name));
  return masks;
}

/// Their names give the labels, unless a list does.
static void tellFiles(const std::string &folder, const PictureListing &listing,
                      const std::vector<std::string> &masks, Provenance &provenance) {
  for (const std::string &path : listing.paths)
    provenance.addFile(text(folder, '/', path), path);
  for (const std::string &mask : masks)
    provenance.addFile(mask);
  provenance.addContent(std::as_bytes(std::span(listing.labels)));
}

Status describeFolder(Config config, const DataContext &context, Pipeline &pipeline) {
  if (context.hasFiles)
    return applyFolder(config, context, pipeline);
  auto fields = readFields(config, context);
  if (!fields)
    return fields.status();
  pipeline.table = makeDescribed(std::move(*fields), 1, text('\'', config.string("path"), '\''));
  return {};
}

Status applyFolder(Config config, const DataContext &context, Pipeline &pipeline) {
  auto given = readFields(config, context);
  if (!given)
    return given.status();
  std::vector<Field> &fields = *given;
  std::vector<std::string> names;
  for (const Field &field : fields)
    names.push_back(field.name);
  for (const FieldUse &use : context.uses)
    if (!std::ranges::count(names, use.field))
      return missingField(use, "the folder source", names);
  auto folder = context.file.empty() ? findFile(config.string("path"), context.folders)
                                     : Result(context.file);
  if (!folder)
    return folder.status();
  auto label = std::ranges::find(fields, GRADC_I64, &Field::dtype);
  bool hasLabels = label != fields.end() && isDemanded(label->name, context);
  Result<PictureListing> listing = Status();
  if (config.child("list")) {
    auto list = findFile(config.string("list"), context.folders);
    if (!list)
      return list.status();
    listing = readListFile(*list);
  } else {
    listing = hasLabels         ? listFolder(*folder)
              : isFile(*folder) ? listOne(*folder)
                                : listPictures(*folder);
  }
  if (!listing)
    return listing.status();
  if (context.state && !listing->names.empty() && hasLabels) {
    auto origin = text('\'', *folder, '\'');
    if (Status status =
            numberClasses(*context.state, label->name, listing->names, origin, listing->labels);
        !status.ok())
      return status;
    listing->classes = *std::ranges::max_element(listing->labels) + 1;
  }
  auto masks = findMasks(config, fields, listing->paths, context);
  if (!masks)
    return masks.status();
  if (hasLabels)
    label->classes = listing->classes;
  std::erase_if(fields, [&](const Field &field) { return !isDemanded(field.name, context); });
  if (context.provenance)
    tellFiles(*folder, *listing, *masks, *context.provenance);
  size_t slot = pipeline.newSlots(masks->empty() ? 1 : 2);
  pipeline.table = std::make_shared<FolderSource>(std::move(*folder), std::move(*listing),
                                                  std::move(*masks), std::move(fields), slot);
  return {};
}

} // namespace gradc::runtime
