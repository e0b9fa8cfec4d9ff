// map { one_hot { classes } }: converts a label to a vector of zeros with a single one.
#include "runtime/base/Text.h"
#include "runtime/data/transform/Convert.h"
#include "runtime/data/transform/Transform.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

class OneHot final : public Transform {
public:
  OneHot(Field result, gradc_dtype from, int64_t classes)
      : Transform(std::move(result)), from(from), classes(classes),
        toInteger(findConverter(from, GRADC_I64)) {}

  Status apply(const Value &in, Random &, ScratchSlot &own, Output &out) const override {
    own.shape.assign(in.shape.begin(), in.shape.end());
    own.shape.push_back(classes);
    auto room = out.room(own.shape);
    if (!room)
      return room.status();
    auto *to = reinterpret_cast<float *>(*room);
    size_t width = findDataType(from)->bytes, labels = in.bytes / width;
    std::fill_n(to, labels * size_t(classes), 0.0f);
    for (size_t i = 0; i < labels; ++i) {
      int64_t label = 0;
      toInteger(in.data + i * width, reinterpret_cast<std::byte *>(&label), 1, 1, -0.0);
      if (label < 0 || label >= classes)
        return Status::error(
            text("is label ", label, ", expected 0 to ", classes - 1, " for one_hot"));
      to[i * size_t(classes) + size_t(label)] = 1;
    }
    return {};
  }

  void tell(const Field &, TensorSteps &steps) const override { steps.oneHot(classes); }

private:
  gradc_dtype from;
  int64_t classes;
  Converter toInteger;
};

} // namespace

Result<std::unique_ptr<const Transform>> makeOneHot(Config config, const Field *before) {
  int64_t classes = config.integer("classes", before ? before->categories : 0);
  if (!before && !config.child("classes"))
    return std::unique_ptr<const Transform>();
  if (classes < 1 || classes > int64_t(1) << 20)
    return Status::invalid(
        text("one_hot { classes } is ", classes, ", expected 1 to ", int64_t(1) << 20,
             config.child("classes") ? "" : "; only a field of categories knows how many it has"));
  if (!before)
    return std::unique_ptr<const Transform>();
  if (findDataType(before->dtype)->floating || before->dtype == GRADC_BOOL)
    return Status::invalid(text("one_hot of field '", before->name, "' expects integers, found ",
                                findDataType(before->dtype)->name));
  if (std::max(before->classes, before->categories) > classes)
    return Status::invalid(text("one_hot { classes } is ", classes, ", expected at least ",
                                std::max(before->classes, before->categories),
                                " for the classes of field '", before->name, "'"));
  Field result = {before->name, GRADC_F32, before->shape};
  result.shape.push_back(classes);
  return std::unique_ptr<const Transform>(
      std::make_unique<OneHot>(std::move(result), before->dtype, classes));
}

} // namespace gradc::runtime
