// Copies the stages that matter, after another source.
#include "runtime/train/predict/GivenData.h"

#include "runtime/base/Text.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/data/source/MappedFile.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/Convert.h"
#include "runtime/data/transform/MapModel.h"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace gradc::runtime {

namespace {

struct Ending {
  std::string_view ending, kind;
};
constexpr Ending endings[] = {{".npz", "npz"},           {".npy", "npy"},     {".csv", "csv"},
                              {".csv.gz", "csv"},        {".tsv", "csv"},     {".tsv.gz", "csv"},
                              {".jpg", "folder"},        {".jpeg", "folder"}, {".png", "folder"},
                              {".tfrecord", "tfrecord"}, {".parquet", "csv"}};

/// Whether sources of that kind have a file per field.
bool hasFilePerField(std::string_view kind) { return kind == "npy" || kind == "idx"; }

bool isFolder(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// The kind of source implied by the file name, or else the job's. `fields`: what it must provide.
std::string_view kindOf(const std::string &file, std::string_view ofJob,
                        const std::vector<std::string> &fields) {
  if (isFolder(file)) {
    if (hasFilePerField(ofJob))
      return ofJob;
    bool hasArrays =
        !fields.empty() && access(joinPath(file, fields.front() + ".npy").c_str(), F_OK) == 0;
    return hasArrays ? "npy" : "folder";
  }
  for (const Ending &known : endings)
    if (file.ends_with(known.ending))
      return known.kind;
  return ofJob;
}

bool contains(const std::vector<std::string> &names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The stages of a job's block that make demanded fields, and the fields that the source must
/// provide for them.
class Stages {
public:
  Stages(Config like, std::span<const Demand> demands) : stages(like.children()) {
    for (const Demand &demand : demands)
      sourceFields.push_back(demand.field);
    isKept.resize(stages.size());
    mapped.resize(stages.size());
  }

  Status choose(const Session *models, bool filters) {
    for (size_t i = stages.size(); i-- > 0;) {
      std::string_view name = stages[i].name();
      if (name == "filter" && filters) {
        need(stages[i].string("field"));
        isKept[i] = true;
      } else if (name == "window") {
        for (Config ahead : stages[i].children("ahead"))
          if (std::erase(sourceFields, ahead.string("name")))
            need(ahead.string("field"));
          else
            unused.emplace_back(ahead.string("name"));
        isKept[i] = true;
      } else if (name == "map") {
        if (Status status = chooseMap(i, models); !status.ok())
          return status;
      }
    }
    return {};
  }

  void copyTo(ConfigTree &tree, int64_t batch) const {
    for (size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].name() == "map" && isKept[i] && !stages[i].child("model")) {
        copyMap(stages[i], mapped[i], tree);
      } else if (stages[i].name() == "batch") {
        tree.integer("size", batch, tree.group("batch"));
      } else if (stages[i].name() == "window") {
        // Without the rows ahead that nothing uses, windows reach to the last row.
        uint32_t window = tree.group("window");
        for (Config child : stages[i].children())
          if (child.name() != "ahead" || !contains(unused, child.string("name")))
            tree.copy(child, window);
      } else if (isKept[i] || stages[i].name() == "memory_mb" ||
                 stages[i].name() == "parallelism") {
        tree.copy(stages[i]);
      }
    }
  }

  const std::vector<std::string> &fields() const { return sourceFields; }

private:
  void need(std::string_view field) {
    if (!contains(sourceFields, field))
      sourceFields.emplace_back(field);
  }

  /// The largest part of the wanted proportions, which lies in the middle.
  static void copyPart(Config part, uint32_t map, ConfigTree &tree) {
    uint32_t block = tree.group(part.name(), map);
    for (Config setting : part.children())
      if (!setting.name().starts_with("least_") && !setting.name().starts_with("most_"))
        tree.copy(setting, block);
    double ratio = double(part.integer("width", 1)) / double(part.integer("height", 1));
    for (const char *end : {"least", "most"}) {
      tree.real(text(end, "_area"), 1, block);
      tree.real(text(end, "_ratio"), ratio, block);
    }
  }

  /// A map of these fields, whose random crop becomes that of the center.
  static void copyMap(Config map, const std::vector<std::string> &fields, ConfigTree &tree) {
    uint32_t copy = tree.group("map");
    for (const std::string &field : fields)
      tree.string("field", field, copy);
    for (Config child : map.children())
      if (child.name() == "random_crop") {
        uint32_t block = tree.group("crop", copy);
        for (const char *size : {"height", "width"})
          if (child.child(size))
            tree.copy(child.child(size), block);
      } else if (child.name() == "random_resized_crop") {
        copyPart(child, copy, tree);
      } else if (child.name() != "field") {
        tree.copy(child, copy);
      }
  }

  Status chooseMap(size_t index, const Session *models) {
    Config map = stages[index];
    if (!map.child("model")) {
      if (Config pad = map.child("pad"))
        if (std::erase_if(sourceFields, [&](std::string_view field) {
              return field == pad.string("mask") || field == pad.string("length");
            }))
          need(map.string("field"));
      for (std::string &field : mappedFields(map))
        if (contains(sourceFields, field))
          mapped[index].push_back(std::move(field));
      isKept[index] = !mapped[index].empty() && !map.child("flip") && !map.child("color_jitter") &&
                      !map.child("random_erase");
      return {};
    }
    auto model = MapModel::find(map, models, /*tail=*/false);
    if (!model)
      return model.status();
    for (const Field &made : (*model)->outputs)
      isKept[index] = isKept[index] || contains(sourceFields, made.name);
    if (!isKept[index])
      return {};
    for (const Field &made : (*model)->outputs)
      std::erase(sourceFields, made.name);
    for (const Field &read : (*model)->inputs)
      need(read.name);
    return {};
  }

  std::vector<Config> stages;
  std::vector<bool> isKept;
  std::vector<std::vector<std::string>> mapped; ///< the demanded fields of each map
  std::vector<std::string> sourceFields;
  std::vector<std::string> unused; ///< that windows could make
};

/// All columns make the single field, or each field has the columns whose names begin with its
/// name.
void describeColumns(ConfigTree &tree, uint32_t csv, const std::vector<std::string> &fields,
                     std::span<const Demand> demands) {
  for (const std::string &field : fields) {
    uint32_t block = tree.group("field", csv);
    tree.string("name", field, block);
    auto demand = std::ranges::find(demands, field, &Demand::field);
    bool isOne = demand != demands.end() && demand->shape.empty();
    tree.string("column", isOne ? field : fields.size() == 1 ? "*" : text(field, '*'), block);
    if (demand == demands.end())
      continue;
    if (std::string_view type = castName(demand->dtype); !type.empty())
      tree.string("dtype", type, block);
    for (int64_t dim : demand->shape)
      tree.integer("shape", dim, block);
  }
}

} // namespace

/// The name of a field's file: the job's, unless the job has files of that name in several folders.
static std::string fileOfField(Config own, const std::string &field) {
  auto nameOf = [](Config known) {
    std::string_view path = known.string("path");
    return path.substr(path.rfind('/') + 1);
  };
  std::string_view name;
  for (Config known : own.children("field"))
    if (known.string("name") == field)
      name = nameOf(known);
  int same = 0;
  for (Config known : own.children("field"))
    same += nameOf(known) == name;
  return same == 1 ? std::string(name) : field + ".npy";
}

static Status givesOneField(const std::string &file, const std::vector<std::string> &fields) {
  return Status::error(text("'", file, "' gives one field, but ", quotedList(fields),
                            " are needed: give an .npz archive or a folder of .npy files"));
}

/// A source with a file per field: `file` for the only one, or the files in the folder `file`.
static Status describeArrays(ConfigTree &tree, uint32_t source, Config own, const std::string &file,
                             const std::vector<std::string> &fields) {
  bool isSeveral = isFolder(file);
  if (!isSeveral && fields.size() != 1)
    return givesOneField(file, fields);
  for (const std::string &field : fields) {
    uint32_t block = tree.group("field", source);
    tree.string("name", field, block);
    tree.string("path", isSeveral ? joinPath(file, fileOfField(own, field)) : file, block);
  }
  return {};
}

/// A source with one array, picture, or column list per field.
static Status describeSource(ConfigTree &tree, std::string_view kind, Config own,
                             const std::string &file, const std::vector<std::string> &fields,
                             std::span<const Demand> demands) {
  uint32_t block = tree.group(kind, tree.group("source"));
  if (hasFilePerField(kind))
    return describeArrays(tree, block, own, file, fields);
  if (kind == "folder" && !own && fields.size() != 1)
    return givesOneField(file, fields);
  tree.string("path", file, block);
  for (Config setting : own.children())
    if (std::string_view name = setting.name();
        name != "path" && name != "rows" && name != "list" && name != "interleave")
      tree.copy(setting, block);
  if (own)
    return {};
  if (kind == "folder")
    tree.string("image", fields[0], block);
  else if (kind == "csv")
    describeColumns(tree, block, fields, demands);
  else if (kind == "tfrecord" || kind == "tokens")
    return Status::error(text("'", file, "' is of the kind '", kind,
                              "', which is read only where the spec says how"));
  if (file.ends_with(".tsv") || file.ends_with(".tsv.gz"))
    tree.string("delimiter", "\t", block);
  return {};
}

/// A picture, or a folder without the files of fields, is of use only to a job that decodes
/// pictures.
static Status expectDecoding(Config like, const std::string &file,
                             const std::vector<std::string> &fields) {
  for (Config map : like.children("map"))
    if (map.child("decode"))
      return {};
  if (!isFolder(file) || fields.empty())
    return Status::error(text("'", file, "' is a picture, and the job decodes none"));
  return Status::error(text("the folder '", file, "' holds no '", fields.front(),
                            ".npy', and the job decodes no pictures"));
}

Result<GivenData> dataOfFile(Config like, const std::string &file, std::span<const Demand> demands,
                             const Session *models, int64_t batch, bool filters) {
  Config source = sourceKind(like); // no split: the given file is used completely
  GivenData given;
  Stages stages(like, demands);
  if (Status status = stages.choose(models, filters); !status.ok())
    return status;
  given.kind = kindOf(file, source.name(), stages.fields());
  if (given.kind.empty())
    return Status::error(text("cannot tell what kind of data '", file,
                              "' is: expected a name that ends in .csv, .tsv, .npz or .npy, or a "
                              "folder of pictures or .npy files"));
  if (given.kind == "folder" && source.name() == "csv")
    return Status::error(text("'", file, "' is a folder or a picture, expected a table"));
  if (given.kind == "folder" && source.name() != "folder")
    if (Status status = expectDecoding(like, file, stages.fields()); !status.ok())
      return status;
  std::vector<Demand> ofRows(demands.begin(), demands.end());
  for (Demand &demand : ofRows)
    if (like.child("window") && !demand.shape.empty())
      demand.shape.erase(demand.shape.begin());
  if (Status status =
          describeSource(given.block, given.kind, source.name() == given.kind ? source : Config(),
                         file, stages.fields(), ofRows);
      !status.ok())
    return status;
  if (like) {
    stages.copyTo(given.block, batch);
    return given;
  }
  for (const Demand &demand : demands)
    if (std::string_view cast = castName(demand.dtype); !cast.empty()) {
      uint32_t map = given.block.group("map");
      given.block.string("field", demand.field, map);
      given.block.string("cast", cast, map);
    }
  given.block.integer("size", batch, given.block.group("batch"));
  return given;
}

} // namespace gradc::runtime
