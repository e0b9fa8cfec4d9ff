// Matches arrays and pictures to graph inputs, first by name, then by shape.
#include "tools/gradc/init/DraftFields.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <filesystem>

namespace gradc {
using namespace runtime;

namespace {

bool fits(const std::vector<int64_t> &wanted, const std::vector<int64_t> &found) {
  return std::ranges::equal(wanted, found,
                            [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; });
}

/// The shape of the same picture with channels first.
std::vector<int64_t> channelsFirst(const std::vector<int64_t> &shape) {
  return shape.size() == 3 ? std::vector<int64_t>{shape[2], shape[0], shape[1]} : shape;
}

/// The field to learn: found by its name, or the only field with one number per row that no input
/// takes.
const LookedField *findTarget(const DraftModel &model, const std::vector<LookedField> &fields) {
  auto isFree = [&](const LookedField &field) {
    return std::ranges::none_of(model.inputs,
                                [&](const DraftPort &port) { return port.name == field.name; });
  };
  for (const LookedField &field : fields)
    if (field.name == model.output.name && isFree(field))
      return &field;
  for (const LookedField &field : fields)
    if (isTargetName(field.name) && isFree(field))
      return &field;
  const LookedField *last = nullptr, *lastScalar = nullptr;
  for (const LookedField &field : fields) {
    if (!isFree(field))
      continue;
    if (field.isScalar())
      lastScalar = &field;
    if (std::ranges::none_of(model.inputs, [&](const DraftPort &port) {
          return fits(port.shape, field.shape) || fits(port.shape, channelsFirst(field.shape));
        }))
      last = &field;
  }
  return lastScalar ? lastScalar : last;
}

class ArrayMatch {
public:
  ArrayMatch(const DraftModel &model, const LookedData &data) : model(model), data(data) {}

  Result<DraftParts> run(const std::string &path);

private:
  const LookedField *find(const DraftPort &port, std::string &others) const;
  Status takeRows();
  void takeExtents(const DraftPort &port, const LookedField &field);
  void addMaps(const DraftPort &port, const LookedField &field);
  void addMap(const LookedField &field, const std::string &what, const std::string &why) {
    parts.maps.push_back(text("map { field: ", inQuotes(field.name), "  ", what, " } }",
                              why.empty() ? "" : "  # ", why));
  }
  bool isUsed(const LookedField &field) const {
    return field.name == parts.target.name ||
           std::ranges::any_of(parts.feeds,
                               [&](const auto &feed) { return feed.second == field.name; });
  }

  const DraftModel &model;
  const LookedData &data;
  DraftParts parts;
};

const LookedField *ArrayMatch::find(const DraftPort &port, std::string &others) const {
  const LookedField *found = nullptr;
  for (bool moves : {false, true})
    for (const LookedField &field : data.fields) {
      if (isUsed(field) || !fits(port.shape, moves ? channelsFirst(field.shape) : field.shape))
        continue;
      if (field.name == port.name)
        return &field;
      if (found && found != &field)
        others += text(others.empty() ? "" : ", ", inQuotes(field.name));
      else
        found = &field;
    }
  return found;
}

void ArrayMatch::takeExtents(const DraftPort &port, const LookedField &field) {
  const std::vector<int64_t> shape =
      fits(port.shape, field.shape) ? field.shape : channelsFirst(field.shape);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (!port.symbols[dim].empty())
      parts.extents.emplace(port.symbols[dim], shape[dim]);
  parts.rowShapes[port.name] = shape;
}

void ArrayMatch::addMaps(const DraftPort &port, const LookedField &field) {
  if (!fits(port.shape, field.shape))
    addMap(field, "transpose { order: 2  order: 0  order: 1 }",
           "channels first, as the model takes them");
  bool wantsFloat = findDataType(port.dtype)->floating,
       isFloat = findDataType(field.dtype)->floating;
  std::string cast = text("cast: ", castName(port.dtype));
  bool isPixels = field.dtype == GRADC_U8 && field.least >= 0 && field.most > 1;
  if (wantsFloat && isPixels) {
    double most = field.most > 127 ? 255 : field.most;
    return addMap(field, text(cast, "  scale: ", 1 / most), text("0 to ", most, " becomes 0 to 1"));
  }
  if (field.dtype != port.dtype)
    addMap(field, cast, "");
  if (wantsFloat && (!isFloat || std::max(-field.least, field.most) > 10) &&
      field.most - field.least > 10) {
    addMap(field, "standardize {}", text("values from ", field.least, " to ", field.most));
    parts.standardizes = true;
  }
}

/// Sets the number of rows. Of a folder only the fields in use are read, of an archive all.
Status ArrayMatch::takeRows() {
  const LookedField *first = nullptr;
  for (const LookedField &field : data.fields) {
    if (data.kind != LookedData::Kind::npz && !isUsed(field))
      continue;
    if (first && first->rows != field.rows)
      return Status::invalid(text("fields of '", data.path, "' differ in their rows: '",
                                  first->name, "' has ", first->rows, ", '", field.name, "' has ",
                                  field.rows));
    first = &field;
    parts.rows = field.rows;
  }
  return {};
}

Result<DraftParts> ArrayMatch::run(const std::string &path) {
  if (const LookedField *target = model.output.isLoss ? nullptr : findTarget(model, data.fields))
    parts.target = *target;
  for (const DraftPort &port : model.inputs) {
    std::string others;
    const LookedField *field = find(port, others);
    if (!field)
      return doesNotFit(port, data, "no field of that shape is left");
    if (field->dtype != port.dtype && castName(port.dtype).empty())
      return doesNotFit(port, data,
                        text("field ", inQuotes(field->name), " cannot be cast to ",
                             findDataType(port.dtype)->name));
    if (!others.empty())
      parts.notes.push_back(text("Graph input ", inQuotes(port.name), " takes field ",
                                 inQuotes(field->name), "; of its shape are also ", others, "."));
    parts.feeds.emplace_back(port.name, field->name);
    takeExtents(port, *field);
    addMaps(port, *field);
  }
  if (Status equal = takeRows(); !equal.ok())
    return equal;
  if (data.kind == LookedData::Kind::npz) {
    parts.source = text("npz { path: ", inQuotes(path), " }");
    return parts;
  }
  parts.source = "npy {";
  for (const LookedField &field : data.fields)
    if (isUsed(field))
      parts.source +=
          text("\n      field { name: ", inQuotes(field.name),
               "  path: ", inQuotes((std::filesystem::path(path) / (field.name + ".npy")).string()),
               " }");
  parts.source += "\n    }";
  return parts;
}

} // namespace

Result<DraftParts> findArrayParts(const DraftModel &model, const LookedData &data,
                                  const std::string &path) {
  return ArrayMatch(model, data).run(path);
}

Result<DraftParts> findPictureParts(const DraftModel &model, const LookedData &data,
                                    const std::string &path) {
  const DraftPort &port = model.inputs.front();
  const std::vector<int64_t> &shape = port.shape;
  auto isChannels = [](int64_t dim) { return dim == 1 || dim == 3; };
  bool isFirst = shape.size() == 3 && isChannels(shape[0]);
  if (model.inputs.size() > 1 || shape.size() != 3 || (!isFirst && !isChannels(shape[2])))
    return doesNotFit(port, data,
                      "a folder of pictures feeds one input [N, channels, height, width] "
                      "or [N, height, width, channels] with 1 or 3 channels");
  DraftParts parts;
  constexpr int64_t usual = 64;
  int64_t channels = isFirst ? shape[0] : shape[2], height = shape[isFirst ? 1 : 0],
          width = shape[isFirst ? 2 : 1];
  bool isOpen = height < 0 || width < 0;
  if (isOpen)
    parts.notes.push_back("The model takes pictures of any size; this one is a guess.");
  parts.source = text("folder { path: ", inQuotes(path), " }");
  parts.rows = data.rows;
  parts.feeds = {{port.name, "image"}};
  parts.rowShapes[port.name] = shape;
  for (int64_t &dim : parts.rowShapes[port.name])
    dim = dim < 0 ? usual : dim;
  parts.maps = {text("map { field: \"image\"  decode { channels: ", channels, " } } }"),
                text("map { field: \"image\"  resize { height: ", height < 0 ? usual : height,
                     "  width: ", width < 0 ? usual : width, " } } }"),
                isFirst ? "map { field: \"image\"  normalize {} } }  # 0 to 1, channels first"
                        : text("map { field: \"image\"  scale: ", 1 / 255., " } }  # 0 to 1")};
  parts.target = {"label", GRADC_I64};
  parts.target.most = double(data.classes - 1);
  for (int64_t label = 0; label < data.classes; ++label)
    parts.target.texts.insert(text(label));
  return parts;
}

std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\' || c == '\n')
      out += '\\';
    out += c == '\n' ? 'n' : c;
  }
  return out + '"';
}

bool isTargetName(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) { return char(std::tolower(c)); });
  constexpr std::string_view usual[] = {"label",   "labels",  "target",  "targets",
                                        "class",   "classes", "y",       "y_train",
                                        "species", "outcome", "category"};
  return std::ranges::find(usual, lower) != std::end(usual);
}

Status doesNotFit(const DraftPort &port, const LookedData &data, std::string_view why) {
  std::string all;
  for (const LookedField &field : data.fields)
    all += text(all.empty() ? "" : ", ", field.describe());
  if (data.kind == LookedData::Kind::folder)
    all = text("pictures of ", data.classes, " classes");
  return Status::invalid(text("nothing in '", data.path, "' feeds graph input ", port.describe(),
                              ": ", why, "; the data have ", all));
}

} // namespace gradc
