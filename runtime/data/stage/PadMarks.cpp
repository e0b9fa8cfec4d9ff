// The fields that map { pad { mask length } } creates: where a row has values, and how many values.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

/// Precedes the padding itself, because the original size of a row is known there.
class PadMarks final : public TableStage {
public:
  PadMarks(std::shared_ptr<const Table> input, size_t padded, std::vector<int64_t> shape,
           std::optional<Field> mask, std::optional<Field> length, size_t slot)
      : TableStage(std::move(input)), padded(padded), shape(std::move(shape)), slot(slot) {
    auto before = this->input->fields();
    fieldList.assign(before.begin(), before.end());
    firstMade = fieldList.size();
    hasMask = mask.has_value();
    for (std::optional<Field> *made : {&mask, &length})
      if (*made)
        fieldList.push_back(std::move(**made));
  }

  std::span<const Field> fields() const override { return fieldList; }
  const std::byte *column(size_t field) const override {
    return field < firstMade ? input->column(field) : nullptr;
  }
  std::string describe(size_t field) const override {
    return field < firstMade
               ? input->describe(field)
               : text("field '", fieldList[field].name, "' of pad of ", input->describe(padded));
  }

  std::string describeRow(int64_t row, size_t field) const override {
    return input->describeRow(row, field < firstMade || field == noField ? field : padded);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    if (field < firstMade)
      return input->view(field, row, scratch);
    auto value = input->view(padded, row, scratch);
    if (!value)
      return value.status();
    bool isMask = hasMask && field == firstMade;
    const Field &made = fieldList[field];
    std::byte *out = scratch.slot(slot + !isMask).reserve(made.bytes());
    if (isMask)
      mark(value->shape, reinterpret_cast<float *>(out), made.shape);
    else
      *reinterpret_cast<int64_t *>(out) = std::min(value->shape[0], shape[0]);
    return Value{out, made.shape, made.bytes()};
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    return field < firstMade ? input->read(field, rows, scratch, out)
                             : Table::read(field, rows, scratch, out);
  }

private:
  /// 1 where all dims of the position are inside the row.
  static void mark(std::span<const int64_t> row, float *out, std::span<const int64_t> shape) {
    int64_t inner = 1;
    for (int64_t dim : shape.subspan(1))
      inner *= dim;
    for (int64_t i = 0; i < shape[0]; ++i, out += inner)
      if (i >= row[0])
        std::fill_n(out, inner, 0.0F);
      else if (shape.size() == 1)
        *out = 1;
      else
        mark(row.subspan(1), out, shape.subspan(1));
  }

  size_t padded;
  std::vector<int64_t> shape;
  size_t slot; ///< of the mask, then of the length
  std::vector<Field> fieldList;
  size_t firstMade;
  bool hasMask;
};

} // namespace

Status applyPadMarks(Config pad, size_t padded, const std::vector<int64_t> &shape,
                     const DataContext &context, Pipeline &pipeline) {
  auto fields = pipeline.table->fields();
  std::string mask(pad.string("mask")), length(pad.string("length"));
  bool counts = countsLength(context, fields[padded].name);
  if (counts && length.empty())
    length = text("length of '", fields[padded].name, '\'');
  if (mask.empty() && length.empty())
    return {};
  for (const Field &field : fields)
    for (auto [name, made] : {std::pair("mask", &mask), std::pair("length", &length)})
      if (field.name == *made)
        return Status::invalid(
            text("pad { ", name, " } is '", *made, "', expected a name that no field has"));
  if (!mask.empty() && mask == length)
    return Status::invalid(text("pad has '", mask, "' as mask and as length, expected two names"));
  const Field &before = fields[padded];
  if (counts)
    pipeline.padded.push_back({before.name, mask, length, shape[0]});
  size_t marked = before.shape.size();
  while (marked > 1 && !before.isFixed() && before.shape[marked - 1] != Field::varying)
    --marked;
  std::optional<Field> maskField, lengthField;
  if (!mask.empty())
    maskField = {mask, GRADC_F32, {shape.begin(), shape.begin() + ptrdiff_t(marked)}};
  if (!length.empty())
    lengthField = {length, GRADC_I64, {}};
  pipeline.table = std::make_shared<PadMarks>(pipeline.table, padded, shape, std::move(maskField),
                                              std::move(lengthField), pipeline.newSlots(2));
  return {};
}

} // namespace gradc::runtime
