// Casts, scales and shifts one field.
#include "runtime/core/Text.h"
#include "runtime/data/Convert.h"
#include "runtime/data/Stages.h"

#include <cmath>

namespace gradc {

namespace {

class Map final : public TableStage {
public:
  Map(std::shared_ptr<const Table> input, size_t mapped, gradc_dtype to, Converter converter,
      double scale, double offset)
      : TableStage(std::move(input)), mapped(mapped), converter(converter), scale(scale),
        offset(offset) {
    auto before = this->input->fields();
    fieldList.assign(before.begin(), before.end());
    fieldList[mapped].dtype = to;
  }

  std::span<const Field> fields() const override { return fieldList; }
  const std::byte *column(size_t field) const override {
    return field == mapped ? nullptr : input->column(field);
  }

  Status read(size_t field, std::span<const int64_t> rows, std::byte *out) const override {
    if (field != mapped)
      return input->read(field, rows, out);
    const Field &before = input->fields()[field];
    size_t elements = before.elements(), bytesBefore = before.bytes(),
           bytesAfter = fieldList[field].bytes();
    const std::byte *column = input->column(field);
    std::vector<std::byte> made;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::byte *row = column ? column + size_t(rows[i]) * bytesBefore : nullptr;
      if (!row) {
        made.resize(bytesBefore);
        if (Status status = input->read(field, rows.subspan(i, 1), made.data()); !status.ok())
          return status;
        row = made.data();
      }
      size_t converted = converter(row, out + i * bytesAfter, elements, scale, offset);
      if (converted != elements)
        return doesNotFit(field, rows[i], row + converted * before.elementBytes());
    }
    return {};
  }

private:
  Status doesNotFit(size_t field, int64_t row, const std::byte *element) const {
    return Status::error(text("value ", elementAsDouble(input->fields()[field].dtype, element),
                              " in row ", row, " of ", describe(field), " does not fit ",
                              findDataType(fieldList[field].dtype)->name));
  }

  size_t mapped;
  Converter converter;
  double scale, offset;
  std::vector<Field> fieldList;
};

} // namespace

Status applyMap(Config config, const DataContext &, Pipeline &pipeline) {
  std::string_view name = config.string("field");
  auto fields = pipeline.table->fields();
  std::vector<std::string> names;
  size_t index = fields.size();
  for (size_t i = 0; i < fields.size(); ++i) {
    names.push_back(fields[i].name);
    if (fields[i].name == name)
      index = i;
  }
  if (index == fields.size())
    return Status::invalid(text("map names field '", name,
                                "', expected one that feeds the model: ", quotedList(names)));

  gradc_dtype from = fields[index].dtype, to = from;
  if (Config cast = config.child("cast")) {
    auto found = castType(config.string("cast"));
    if (!found)
      return Status::invalid(text("map of field '", name, "' casts to '", config.string("cast"),
                                  "', expected F32, F64, I32 or I64"));
    to = *found;
  }
  Converter converter = findConverter(from, to);
  if (!converter)
    return Status::invalid(text("map of field '", name, "' cannot compute in ",
                                findDataType(to)->name,
                                ", expected a cast to F32, F64, I32 or I64"));

  double scale = config.real("scale", 1.0), offset = config.real("offset", 0.0);
  if (offset == 0)
    offset = -0.0; // adding it changes no value, not even -0 itself
  bool isInteger = to == GRADC_I32 || to == GRADC_I64;
  for (auto [what, value] : {std::pair("scale", scale), std::pair("offset", offset)})
    if (isInteger && (std::trunc(value) != value || std::abs(value) > 0x1p31))
      return Status::invalid(text("map of field '", name, "' has ", what, ' ', value,
                                  ", expected a 32-bit integer for a field of type ",
                                  findDataType(to)->name));
  pipeline.table = std::make_shared<Map>(pipeline.table, index, to, converter, scale, offset);
  return {};
}

} // namespace gradc
