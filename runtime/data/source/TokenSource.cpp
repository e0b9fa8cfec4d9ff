// Windows over a long sequence of tokens: the source for language models.
#include "runtime/base/Text.h"
#include "runtime/data/source/ArraySource.h"

#include <cstring>
#include <numeric>

namespace gradc::runtime {

namespace {

struct TokenField {
  Field field;
  int64_t shift = 0; ///< tokens after the window's begin
};

struct TokenSpec {
  std::vector<TokenField> fields; ///< input, target
  int64_t stride = 0;
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
  std::string describeRow(int64_t row, size_t) const override {
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

/// Reads the block. Reports all its problems; returns the first one.
static Status readSpec(Config config, const DataContext &context, TokenSpec &spec) {
  Status first;
  auto wrong = [&](std::string_view name, const auto &...parts) {
    keepFirst(first, context.wrong(config, text("tokens { ", name, " } is ", parts...)));
  };
  int64_t window = config.integer("window", 0);
  spec.stride = config.integer("stride", window);
  if (window < 1 || window > int64_t(1) << 30)
    wrong("window", window, ", expected 1 or more");
  else if (spec.stride < 1)
    wrong("stride", spec.stride, ", expected 1 or more");
  std::string_view type = config.string("dtype", "U8");
  gradc_dtype dtype = type == "U8" ? GRADC_U8 : type == "U16" ? GRADC_U16 : GRADC_I32;
  if (dtype == GRADC_I32 && type != "I32")
    wrong("dtype", '\'', type, "', expected U8, U16 or I32");
  // The target is what the model must predict after the window, or after each of its tokens.
  bool eachToken = config.boolean("target_each", false);
  spec.fields.push_back({{std::string(config.string("input", "input")), dtype, {window}}, 0});
  Field target = {std::string(config.string("target", "target")), dtype, {}};
  if (eachToken)
    target.shape = {window};
  spec.fields.push_back({std::move(target), eachToken ? 1 : window});
  return first;
}

Status describeTokens(Config config, const DataContext &context, Pipeline &pipeline) {
  if (context.hasFiles)
    return applyTokens(config, context, pipeline);
  TokenSpec spec;
  if (Status status = readSpec(config, context, spec); !status.ok())
    return status;
  pipeline.table = makeDescribed({spec.fields[0].field, spec.fields[1].field}, 1,
                                 text('\'', config.string("path"), '\''));
  return {};
}

Status applyTokens(Config config, const DataContext &context, Pipeline &pipeline) {
  TokenSpec spec;
  if (Status status = readSpec(config, context, spec); !status.ok())
    return status;
  const int64_t window = spec.fields[0].field.shape[0], stride = spec.stride;
  const gradc_dtype dtype = spec.fields[0].field.dtype;
  std::vector<std::string> names;
  std::vector<TokenField> tokens;
  for (TokenField &field : spec.fields) {
    names.push_back(field.field.name);
    if (isDemanded(names.back(), context))
      tokens.push_back(std::move(field));
  }
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
