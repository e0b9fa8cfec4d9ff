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

Status applyNpz(Config config, const DataContext &context, Pipeline &pipeline) {
  auto opened = openFile(config.string("path"), context);
  if (!opened)
    return opened.status();
  const std::shared_ptr<const MappedFile> &file = opened->file;
  std::string origin = text('\'', opened->path, '\'');
  auto members = listZip(file->bytes(), origin);
  if (!members)
    return members.status();

  // Only arrays that the model takes are read: an archive may hold others of any kind.
  std::vector<SourceArray> arrays;
  for (const FieldUse &use : context.uses) {
    const ZipMember *found = nullptr;
    std::vector<std::string> names;
    for (const ZipMember &member : *members) {
      names.push_back(fieldName(member));
      if (names.back() == use.field)
        found = &member;
    }
    if (!found)
      return missingField(use, origin, names);
    bool known = false;
    for (const SourceArray &array : arrays)
      known |= array.field.name == use.field;
    if (known)
      continue;

    auto content = readZip(file->bytes(), *found, origin);
    if (!content)
      return content.status();
    std::shared_ptr<const void> owner = content->inflated;
    if (!owner)
      owner = file;
    auto array = makeSourceArray(use.field, content->bytes, std::move(owner),
                                 text("field '", use.field, "' of ", origin));
    if (!array)
      return array.status();
    array->file = file;
    arrays.push_back(std::move(*array));
  }
  auto table = makeArraySource(std::move(arrays), std::move(origin));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

Status describeNpz(Config config, const DataContext &context, Pipeline &pipeline) {
  if (!context.hasFiles)
    return {};
  auto opened = openFile(config.string("path"), context);
  if (!opened)
    return opened.status();
  std::string origin = text('\'', opened->path, '\'');
  auto members = listZip(opened->file->bytes(), origin);
  if (!members)
    return members.status();
  Status first;
  std::vector<SourceArray> arrays;
  for (const ZipMember &member : *members) {
    std::string name = fieldName(member);
    auto start = startZip(opened->file->bytes(), member, origin);
    auto array = start ? makeSourceArray(name, start->bytes, start->inflated,
                                         text("field '", name, "' of ", origin), member.size)
                       : Result<SourceArray>(start.status());
    if (array)
      arrays.push_back(std::move(*array));
    else
      keepFirst(first, context.wrong(config, array.status().message()));
  }
  // In every file alike, however it was written.
  std::sort(arrays.begin(), arrays.end(),
            [](const SourceArray &a, const SourceArray &b) { return a.field.name < b.field.name; });
  if (arrays.empty() && first.ok())
    return Status::error(text(origin, " holds no arrays"));
  if (!first.ok())
    return first;
  auto table = makeArraySource(std::move(arrays), std::move(origin));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

} // namespace gradc::runtime
