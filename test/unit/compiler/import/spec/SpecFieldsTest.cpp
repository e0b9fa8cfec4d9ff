// A block's fields are visited value by value.
#include "compiler/import/spec/SpecFields.h"
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

using namespace gradc;

namespace {

std::vector<std::string> fieldsOf(const google::protobuf::Message &block) {
  std::vector<std::string> found;
  forEachField(block, [&](const SpecField &field) {
    std::string step = std::string(field.step().name) + " " + std::to_string(field.step().index);
    if (field.isBlock())
      for (const std::string &inner : fieldsOf(field.inner()))
        found.push_back(step + ": " + inner);
    else if (field.isText())
      found.push_back(step + " = " + field.text());
    else if (field.isNumber())
      found.push_back(step + " = " + std::to_string(int(field.number())));
    else
      found.push_back(step);
  });
  return found;
}

TEST(SpecFields, AreThoseThatABlockSets) {
  spec::Training training;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(model: "m.onnx"
         loss { weight: 3 softmax_cross_entropy { labels: "l" logits: "x" class_weight: [4, 5] } }
         schedule { unit: EPOCHS cosine { length: 7 restarts: true } })",
      &training));
  using Fields = std::vector<std::string>;
  EXPECT_EQ(fieldsOf(training.loss(0).softmax_cross_entropy()),
            (Fields{"logits -1 = x", "labels -1 = l", "class_weight 0 = 4", "class_weight 1 = 5"}));
  EXPECT_EQ(fieldsOf(training.schedule().cosine()), (Fields{"length -1 = 7", "restarts -1"}));
  Fields all = fieldsOf(training);
  EXPECT_EQ(all.front(), "model -1 = m.onnx");
  EXPECT_EQ(llvm::count(all, "loss 0: softmax_cross_entropy -1: labels -1 = l"), 1);
  EXPECT_EQ(llvm::count(all, "loss 0: weight -1 = 3"), 1);
  EXPECT_EQ(llvm::count(all, "schedule -1: unit -1"), 1);
}

} // namespace
