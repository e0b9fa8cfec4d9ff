// Checks what a spec says about data, as far as that needs no file.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace gradc;

static void checkRows(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Rows &rows) {
  if (rows.has_only() && rows.has_except())
    c.error(place) << "expected rows with only or except, found both";
  if (!rows.has_every() && (rows.has_only() || rows.has_except()))
    c.error(place) << "missing every: rows with only or except want every: 5";
  if (rows.has_every()) {
    c.expect(rows.every() > 0, place, "every", "above 0", rows.every());
    int64_t picked = rows.has_only() ? rows.only() : rows.except();
    c.expect(picked >= 0 && picked < std::max<int64_t>(rows.every(), 1), place, "only and except",
             "from 0 to below every", picked);
  }
  if (rows.has_begin() || rows.has_end())
    c.expect(rows.begin() >= 0 && (!rows.has_end() || rows.begin() < rows.end()), place, "begin",
             "from 0 to below end", rows.begin());
}

static void checkCsv(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Csv &csv) {
  c.require(csv.path_size(), place, "path", "path: \"data.csv\"");
  c.require(csv.field_size(), place, "field", "field { name: \"x\" column: \"pixel*\" }");
  StringRef delimiter = csv.delimiter();
  c.expect(delimiter.size() == 1 && !StringRef("+-.\"\r\n").contains(delimiter[0]) &&
               !llvm::isAlnum(delimiter[0]),
           place, "delimiter", "to be one character that is no part of a number", delimiter);
  for (auto [i, field] : llvm::enumerate(csv.field())) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back({"field", int(i)});
    c.require(field.column_size(), at, "column", "column: \"age\"");
    bool isInteger = field.dtype() == spec::I32 || field.dtype() == spec::I64;
    double missing = field.missing();
    c.expect(!isInteger || (std::trunc(missing) == missing && std::abs(missing) < 0x1p31), at,
             "missing", "to be a 32-bit integer", missing);
    for (int64_t dim : field.shape())
      c.expect(dim > 0 && dim <= int64_t(1) << 20, at, "shape", "of dims above 0", dim);
  }
}

static void checkTfRecord(Checker &c, ArrayRef<SpecFile::Step> place,
                          const spec::TfRecord &records) {
  c.require(records.path_size(), place, "path", "path: \"train.tfrecord\"");
  c.require(records.feature_size(), place, "feature", "feature { name: \"image\" type: BYTES }");
  llvm::StringSet<> fields;
  for (auto [i, feature] : llvm::enumerate(records.feature())) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back({"feature", int(i)});
    c.require(!feature.name().empty(), at, "name", "name: \"image\"");
    const std::string &field = feature.has_field() ? feature.field() : feature.name();
    if (!fields.insert(field).second)
      c.error(at) << "field \"" << field << "\" is declared twice";
    for (int64_t dim : feature.shape())
      c.expect(dim > 0 && dim <= int64_t(1) << 30, at, "shape", "of dims above 0", dim);
  }
}

/// A height or width: from 1 to 32768.
static void checkSide(Checker &c, ArrayRef<SpecFile::Step> place, const char *name, int64_t side) {
  c.expect(side >= 1 && side <= 32768, place, name, "from 1 to 32768", side);
}

static void checkResize(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Resize &resize) {
  if (resize.has_shorter() && (resize.has_height() || resize.has_width()))
    c.error(place) << "expected resize with height and width, or with shorter, found both";
  else if (resize.has_shorter())
    checkSide(c, place, "shorter", resize.shorter());
  else {
    checkSide(c, place, "height", resize.height());
    checkSide(c, place, "width", resize.width());
  }
}

static void checkRandomCrop(Checker &c, ArrayRef<SpecFile::Step> place,
                            const spec::RandomCrop &crop) {
  checkSide(c, place, "height", crop.height());
  checkSide(c, place, "width", crop.width());
  c.expect(crop.padding() >= 0 && crop.padding() <= 32768, place, "padding", "from 0 to 32768",
           crop.padding());
  c.expect(std::isfinite(crop.fill()), place, "fill", "to be finite", crop.fill());
}

static void checkDecode(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Decode &decode) {
  int64_t channels = decode.channels();
  c.expect(channels == 1 || channels == 3 || channels == 4, place, "channels", "of 1, 3 or 4",
           channels);
  c.expect(decode.max_pixels() > 0, place, "max_pixels", "above 0", decode.max_pixels());
  if (decode.has_min_height() != decode.has_min_width())
    c.error(place) << "expected decode with min_height and min_width, found one of them";
  if (decode.has_min_height() && decode.has_min_width()) {
    checkSide(c, place, "min_height", decode.min_height());
    checkSide(c, place, "min_width", decode.min_width());
  }
}

static void checkColorJitter(Checker &c, ArrayRef<SpecFile::Step> place,
                             const spec::ColorJitter &jitter) {
  for (auto [name, value] : {std::pair("brightness", jitter.brightness()),
                             {"contrast", jitter.contrast()},
                             {"saturation", jitter.saturation()}})
    c.expect(value >= 0 && value <= 100, place, name, "from 0 to 100", value);
  c.expect(jitter.hue() >= 0 && jitter.hue() <= 0.5, place, "hue", "from 0 to 0.5", jitter.hue());
  c.expect(jitter.max() > 0 && std::isfinite(jitter.max()), place, "max", "above 0", jitter.max());
}

static void checkNormalize(Checker &c, ArrayRef<SpecFile::Step> place,
                           const spec::Normalize &normalize) {
  c.expect(normalize.max() > 0 && std::isfinite(normalize.max()), place, "max", "above 0",
           normalize.max());
  for (double mean : normalize.mean())
    c.expect(std::isfinite(mean), place, "mean", "to be finite", mean);
  for (double deviation : normalize.deviation())
    c.expect(deviation > 0 && std::isfinite(deviation), place, "deviation", "above 0", deviation);
}

static void checkMapModel(Checker &c, ArrayRef<SpecFile::Step> place, const spec::MapModel &model) {
  c.require(!model.file().empty(), place, "file", "file: \"augment.onnx\"");
  if (model.has_entry())
    c.error(place) << "entry is no field for specs: the compiler sets it";
  for (auto [i, input] : llvm::enumerate(model.input())) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back({"input", int(i)});
    c.require(!input.field().empty(), at, "field", "input { field: \"image\" to: \"x\" }");
  }
  for (auto [i, output] : llvm::enumerate(model.output())) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back({"output", int(i)});
    c.require(!output.name().empty(), at, "name", "output { name: \"y\" field: \"image\" }");
  }
}

static void checkMap(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Map &map) {
  if (!map.has_model())
    c.require(!map.field().empty(), place, "field", "field: \"images\"");
  else if (map.has_field())
    c.error(place) << "expected a model to name its fields in input and output, found field: \""
                   << map.field() << "\" beside it";
  c.expect(std::isfinite(map.scale()) && std::isfinite(map.offset()), place, "scale and offset",
           "to be finite", map.scale());
  bool casts = map.has_cast() || map.has_scale() || map.has_offset();
  if (casts && map.kind_case() != spec::Map::KIND_NOT_SET)
    c.error(place) << "expected map with cast, scale and offset, or with one other thing to do, "
                      "found both: write two map blocks";
  switch (map.kind_case()) {
  case spec::Map::kOneHot:
    c.expect(map.one_hot().classes() > 0, place, "classes", "above 0", map.one_hot().classes());
    break;
  case spec::Map::kTranspose:
    c.require(map.transpose().order_size(), place, "order", "order: [2, 0, 1]");
    break;
  case spec::Map::kPad:
    c.require(map.pad().shape_size(), place, "shape", "shape: [128]");
    for (int64_t dim : map.pad().shape())
      c.expect(dim > 0 && dim <= int64_t(1) << 30, place, "shape", "of dims above 0", dim);
    break;
  case spec::Map::kDecode:
    checkDecode(c, place, map.decode());
    break;
  case spec::Map::kResize:
    checkResize(c, place, map.resize());
    break;
  case spec::Map::kCrop:
    checkSide(c, place, "height", map.crop().height());
    checkSide(c, place, "width", map.crop().width());
    break;
  case spec::Map::kRandomCrop:
    checkRandomCrop(c, place, map.random_crop());
    break;
  case spec::Map::kFlip:
    for (double chance : {map.flip().horizontal(), map.flip().vertical()})
      c.expect(chance >= 0 && chance <= 1, place, "horizontal and vertical", "from 0 to 1", chance);
    break;
  case spec::Map::kColorJitter:
    checkColorJitter(c, place, map.color_jitter());
    break;
  case spec::Map::kNormalize:
    checkNormalize(c, place, map.normalize());
    break;
  case spec::Map::kStandardize:
    c.expect(map.standardize().epsilon() >= 0, place, "epsilon", "of 0 or more",
             map.standardize().epsilon());
    break;
  case spec::Map::kModel: {
    SmallVector<SpecFile::Step> model(place);
    model.push_back("model");
    checkMapModel(c, model, map.model());
    break;
  }
  case spec::Map::KIND_NOT_SET:
    break;
  }
}

SmallVector<SpecFile::Step> SpecFile::stagesOf(const spec::Data &data) {
  SmallVector<Step> stages;
  llvm::StringMap<int> count;
  const auto *type = data.GetDescriptor();
  for (const std::string &name : data.chain()) {
    const auto *field = type->FindFieldByName(name);
    stages.push_back({field->name().c_str(), field->is_repeated() ? count[name]++ : -1});
  }
  return stages;
}

LogicalResult SpecFile::checkData(const spec::Data &data, ArrayRef<Step> place) const {
  Checker c{*this};
  auto inside = [&](std::initializer_list<Step> steps) {
    SmallVector<Step> all(place);
    all.append(steps);
    return all;
  };
  switch (data.source().kind_case()) {
  case spec::Source::kNpz:
    c.require(data.source().npz().path_size(), inside({"source", "npz"}), "path",
              "path: \"data.npz\"");
    checkRows(c, inside({"source", "npz", "rows"}), data.source().npz().rows());
    break;
  case spec::Source::kNpy:
    c.require(data.source().npy().field_size(), inside({"source", "npy"}), "field",
              "field { name: \"images\" path: \"images.npy\" }");
    for (auto [i, field] : llvm::enumerate(data.source().npy().field()))
      checkPair(c, inside({"source", "npy", {"field", int(i)}}), "a field of npy", "name",
                field.name(), "path", field.path());
    checkRows(c, inside({"source", "npy", "rows"}), data.source().npy().rows());
    break;
  case spec::Source::kIdx:
    c.require(data.source().idx().field_size(), inside({"source", "idx"}), "field",
              "field { name: \"images\" path: \"train-images-idx3-ubyte.gz\" }");
    for (auto [i, field] : llvm::enumerate(data.source().idx().field()))
      checkPair(c, inside({"source", "idx", {"field", int(i)}}), "a field of idx", "name",
                field.name(), "path", field.path());
    checkRows(c, inside({"source", "idx", "rows"}), data.source().idx().rows());
    break;
  case spec::Source::kCsv: {
    auto csv = inside({"source", "csv"});
    checkCsv(c, csv, data.source().csv());
    csv.push_back("rows");
    checkRows(c, csv, data.source().csv().rows());
    break;
  }
  case spec::Source::kFolder:
    c.require(!data.source().folder().path().empty(), inside({"source", "folder"}), "path",
              "path: \"pictures\"");
    checkRows(c, inside({"source", "folder", "rows"}), data.source().folder().rows());
    break;
  case spec::Source::kTfrecord:
    checkTfRecord(c, inside({"source", "tfrecord"}), data.source().tfrecord());
    checkRows(c, inside({"source", "tfrecord", "rows"}), data.source().tfrecord().rows());
    break;
  case spec::Source::kTokens: {
    const spec::Tokens &tokens = data.source().tokens();
    c.require(tokens.path_size(), inside({"source", "tokens"}), "path", "path: \"text.bin\"");
    c.expect(tokens.window() > 0, inside({"source", "tokens"}), "window", "above 0",
             tokens.window());
    c.expect(!tokens.has_stride() || tokens.stride() > 0, inside({"source", "tokens", "stride"}),
             "stride", "above 0", tokens.stride());
    checkRows(c, inside({"source", "tokens", "rows"}), tokens.rows());
    break;
  }
  case spec::Source::KIND_NOT_SET:
    c.require(false, place, "source", "source { npz { path: \"data.npz\" } }");
  }
  c.expect(data.parallelism() >= 0 && data.parallelism() <= 1024, inside({"parallelism"}),
           "parallelism", "from 0 (AUTOTUNE) to 1024", data.parallelism());
  c.expect(data.memory_mb() > 0, inside({"memory_mb"}), "memory_mb", "above 0", data.memory_mb());
  bool isBatched = false;
  for (const Step &stage : stagesOf(data)) {
    StringRef name = stage.name;
    bool isModel = name == "map" && data.map(stage.index).has_model();
    if (isBatched && !isModel && name != "prefetch")
      c.error(inside({stage})) << name << " stands behind batch, expected it before"
                               << (name == "map" ? ": only a map by a model takes batches" : "");
    isBatched |= name == "batch";
    if (name == "prefetch" && !isBatched)
      c.error(inside({stage})) << "prefetch stands before batch, expected it behind";
  }
  for (auto [i, map] : llvm::enumerate(data.map()))
    checkMap(c, inside({{"map", int(i)}}), map);
  for (auto [i, shuffle] : llvm::enumerate(data.shuffle()))
    c.expect(shuffle.buffer() >= 0, inside({{"shuffle", int(i)}, "buffer"}), "buffer",
             "of 0 or more", shuffle.buffer());
  for (auto [i, take] : llvm::enumerate(data.take()))
    c.expect(take.rows() > 0, inside({{"take", int(i)}}), "rows", "above 0", take.rows());
  for (auto [i, skip] : llvm::enumerate(data.skip()))
    c.expect(skip.rows() > 0, inside({{"skip", int(i)}}), "rows", "above 0", skip.rows());
  for (auto [i, repeat] : llvm::enumerate(data.repeat()))
    c.expect(repeat.times() > 0, inside({{"repeat", int(i)}}), "times", "above 0", repeat.times());
  for (auto [i, filter] : llvm::enumerate(data.filter()))
    c.require(!filter.field().empty(), inside({{"filter", int(i)}}), "field", "field: \"label\"");
  for (auto [i, shard] : llvm::enumerate(data.shard())) {
    c.expect(shard.count() > 0, inside({{"shard", int(i)}}), "count", "above 0", shard.count());
    c.expect(shard.index() >= 0 && shard.index() < std::max<int64_t>(shard.count(), 1),
             inside({{"shard", int(i)}}), "index", "from 0 to below count", shard.index());
  }
  if (!data.batch().has_size())
    c.require(false, inside({"batch"}), "batch.size", "batch { size: 32 }");
  else
    c.expect(data.batch().size() > 0, inside({"batch", "size"}), "batch.size", "above 0",
             data.batch().size());
  if (data.has_prefetch())
    c.expect(data.prefetch().depth() >= 0, inside({"prefetch", "depth"}), "depth",
             "of 0 (AUTOTUNE) or more", data.prefetch().depth());
  return success(c.ok);
}
