// Windows over a long sequence of tokens: the source for language models.
#include "runtime/base/Text.h"
#include "runtime/data/Stages.h"
#include "runtime/data/source/ArraySource.h"

#include <cstring>
#include <numeric>

namespace gradc::runtime {

namespace {

struct TokenField {
  Field field;
  int64_t shift = 0; ///< tokens after the window's begin
};

class Tokens final : public Table {
public:
  Tokens(std::shared_ptr<const MappedFile> file, std::string origin, std::vector<TokenField> tokens,
         int64_t count, int64_t stride)
      : file(std::move(file)), from(std::move(origin)), tokens(std::move(tokens)), count(count),
        stride(stride) {
    for (const TokenField &token : this->tokens)
      fieldList.push_back(token.field);
  }

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override { return count; }
  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(size_t(count));
    std::iota(rows.begin(), rows.end(), 0);
  }
  Result<Value> view(size_t field, RowRef row, Scratch &) const override {
    return Value{at(field, row.row), fieldList[field].shape, fieldList[field].bytes()};
  }
  Status read(size_t field, RowList rows, Scratch &, std::byte *out) const override {
    size_t bytes = fieldList[field].bytes();
    for (int64_t row : rows.rows) {
      std::memcpy(out, at(field, row), bytes);
      out += bytes;
    }
    return {};
  }
  std::string describeRow(int64_t row) const override {
    return text("the window at token ", row * stride, " of ", from);
  }
  std::string origin() const override { return from; }
  void letGo() const override { file->letGo(); }

private:
  const std::byte *at(size_t field, int64_t row) const {
    int64_t token = row * stride + tokens[field].shift;
    return file->bytes().data() + size_t(token) * fieldList[field].elementBytes();
  }

  std::shared_ptr<const MappedFile> file;
  std::string from;
  std::vector<TokenField> tokens;
  std::vector<Field> fieldList;
  int64_t count, stride;
};

} // namespace

Status applyTokens(Config config, const DataContext &context, Pipeline &pipeline) {
  int64_t window = config.integer("window", 0), stride = config.integer("stride", window);
  if (window < 1 || window > int64_t(1) << 30)
    return Status::invalid(text("tokens { window } is ", window, ", expected 1 or more"));
  if (stride < 1)
    return Status::invalid(text("tokens { stride } is ", stride, ", expected 1 or more"));
  std::string_view type = config.string("dtype", "U8");
  gradc_dtype dtype;
  if (type == "U8")
    dtype = GRADC_U8;
  else if (type == "U16")
    dtype = GRADC_U16;
  else if (type == "I32")
    dtype = GRADC_I32;
  else
    return Status::invalid(text("tokens { dtype } is '", type, "', expected U8, U16 or I32"));

  // The target is the token after the window, or after each of its tokens.
  std::vector<std::string> names = {std::string(config.string("input", "input"))};
  std::vector<TokenField> tokens;
  if (isDemanded(names[0], context))
    tokens.push_back({{names[0], dtype, {window}}, 0});
  bool eachToken = config.boolean("target_each", false);
  names.emplace_back(config.string("target", "target"));
  if (isDemanded(names[1], context))
    tokens.push_back(eachToken ? TokenField{{names[1], dtype, {window}}, 1}
                               : TokenField{{names[1], dtype, {}}, window});
  for (const FieldUse &use : context.uses)
    if (use.field != names[0] && use.field != names[1])
      return missingField(use, "the tokens source", names);

  auto opened = openFile(config.string("path"), context);
  if (!opened)
    return opened.status();
  std::string origin = text('\'', opened->path, '\'');
  size_t bytes = opened->file->bytes().size(), width = findDataType(dtype)->bytes;
  if (bytes % width)
    return Status::error(text(origin, " has ", bytes, " bytes, expected whole tokens of ", width));
  auto count = int64_t(bytes / width);
  if (count < window + 1)
    return Status::error(text("the data set is empty: ", origin, " has ", count,
                              " tokens, expected at least ", window + 1,
                              ": a window and the token behind it"));
  int64_t rows = (count - window - 1) / stride + 1;
  pipeline.table =
      std::make_shared<Tokens>(opened->file, std::move(origin), std::move(tokens), rows, stride);
  return {};
}

} // namespace gradc::runtime
