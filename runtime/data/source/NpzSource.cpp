// Fields from the arrays of a .npz archive.
#include "runtime/base/Text.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/ZipArchive.h"

#include <algorithm>

namespace gradc::runtime {

static std::string fieldName(const ZipMember &member) {
  std::string_view name = member.name;
  if (name.ends_with(".npy"))
    name.remove_suffix(4);
  return std::string(name);
}

/// The offsets by which a `ragged` block divides `field` into rows; "" if its rows have one size.
static std::string_view offsetsOf(Config config, std::string_view field) {
  for (Config ragged : config.children("ragged"))
    if (ragged.string("field") == field)
      return ragged.string("offsets");
  return "";
}

namespace {
/// An archive being read.
struct Archive {
  OpenFile opened;
  std::string origin;
  std::vector<ZipMember> members;

  /// The array with the field's name; an error mentions its user.
  Result<SourceArray> read(const FieldUse &use) const {
    const std::shared_ptr<const MappedFile> &file = opened.file;
    const ZipMember *found = nullptr;
    std::vector<std::string> names;
    for (const ZipMember &member : members) {
      names.push_back(fieldName(member));
      if (names.back() == use.field)
        found = &member;
    }
    if (!found)
      return missingField(use, origin, names);
    auto content = readZip(file->bytes(), *found, origin, file.get());
    if (!content)
      return content.status();
    std::shared_ptr<const void> owner = content->inflated;
    if (!owner)
      owner = file;
    auto array = makeSourceArray(use.field, content->bytes, std::move(owner),
                                 text("field '", use.field, "' of ", origin));
    if (array)
      array->file = file;
    return array;
  }
};
} // namespace

static Result<Archive> openArchive(Config config, const DataContext &context) {
  auto opened = openFile(config.string("path"), context);
  if (!opened)
    return opened.status();
  std::string origin = text('\'', opened->path, '\'');
  auto members = listZip(opened->file->bytes(), origin);
  if (!members)
    return members.status();
  return Archive{std::move(*opened), std::move(origin), std::move(*members)};
}

Status applyNpz(Config config, const DataContext &context, Pipeline &pipeline) {
  auto archive = openArchive(config, context);
  if (!archive)
    return archive.status();
  // Only arrays that the model uses are read: an archive may hold others of any kind.
  std::vector<SourceArray> arrays;
  for (const FieldUse &use : context.uses) {
    bool known = std::any_of(arrays.begin(), arrays.end(), [&](const SourceArray &array) {
      return array.field.name == use.field;
    });
    if (known)
      continue;
    auto array = archive->read(use);
    if (!array)
      return array.status();
    if (std::string_view by = offsetsOf(config, use.field); !by.empty()) {
      auto offsets = archive->read({std::string(by), text("ragged '", use.field, "' reads")});
      if (!offsets)
        return offsets.status();
      if (Status status = cutRows(*array, *offsets, archive->origin, /*isRead=*/true); !status.ok())
        return status;
    }
    arrays.push_back(std::move(*array));
  }
  auto table = makeArraySource(std::move(arrays), std::move(archive->origin));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

/// Divides fields into rows as `ragged` blocks say, by headers only; their offsets are not fields.
static Status describeRagged(Config config, const DataContext &context, std::string_view origin,
                             std::vector<SourceArray> &arrays) {
  Status first;
  std::vector<std::string> cut;
  auto find = [&](std::string_view name) {
    return std::find_if(arrays.begin(), arrays.end(),
                        [&](const SourceArray &array) { return array.field.name == name; });
  };
  for (Config ragged : config.children("ragged")) {
    auto field = find(ragged.string("field")), offsets = find(ragged.string("offsets"));
    std::vector<std::string> names;
    for (const SourceArray &array : arrays)
      names.push_back(array.field.name);
    Status status;
    if (field == arrays.end() || offsets == arrays.end() || field == offsets)
      status = Status::error(text("ragged has field '", ragged.string("field"), "' and offsets '",
                                  ragged.string("offsets"), "', expected two fields of ", origin,
                                  ", which has ", quotedList(names)));
    else
      status = cutRows(*field, *offsets, origin, /*isRead=*/false);
    if (status.ok())
      cut.push_back(offsets->field.name);
    else
      keepFirst(first, context.wrong(ragged, status.message()));
  }
  std::erase_if(arrays, [&](const SourceArray &array) {
    return std::find(cut.begin(), cut.end(), array.field.name) != cut.end();
  });
  return first;
}

/// Removes the arrays that the job does not use if their number of rows is not that of the others.
static void removeUnused(const DataContext &context, std::vector<SourceArray> &arrays) {
  auto isUsed = [&](const SourceArray &array) {
    return context.problems->mayUse(array.field.name);
  };
  auto used = std::find_if(arrays.begin(), arrays.end(), isUsed);
  if (used == arrays.end())
    return;
  int64_t rows = used->rows;
  std::erase_if(arrays,
                [&](const SourceArray &array) { return array.rows != rows && !isUsed(array); });
}

Status describeNpz(Config config, const DataContext &context, Pipeline &pipeline) {
  if (!context.hasFiles)
    return {};
  auto archive = openArchive(config, context);
  if (!archive)
    return archive.status();
  const std::string &origin = archive->origin;
  Status first;
  std::vector<SourceArray> arrays;
  for (const ZipMember &member : archive->members) {
    std::string name = fieldName(member);
    auto start = startZip(archive->opened.file->bytes(), member, origin);
    auto array = start ? describeSourceArray(name, start->bytes,
                                             text("field '", name, "' of ", origin), member.size)
                       : Result<SourceArray>(start.status());
    if (array)
      arrays.push_back(std::move(*array));
    else if (context.problems->mayUse(name))
      keepFirst(first, context.wrong(config, array.status().message()));
  }
  // Sorted, so the order is the same for every file, however it was written.
  std::sort(arrays.begin(), arrays.end(),
            [](const SourceArray &a, const SourceArray &b) { return a.field.name < b.field.name; });
  if (arrays.empty() && first.ok())
    return Status::error(text(origin, " holds no arrays"));
  if (first.ok())
    first = describeRagged(config, context, origin, arrays);
  if (!first.ok())
    return first;
  removeUnused(context, arrays);
  auto table = makeArraySource(std::move(arrays), origin);
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

} // namespace gradc::runtime
