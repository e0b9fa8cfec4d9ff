// Parameter groups, ways to clip, and averages: how training specs are imported, and what is
// refused.
#include "dialects/Pch.h"

#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/TrainingTesting.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class GroupsTest : public TrainingTesting {
protected:
  /// A parameter's own rule; null if it has none.
  DictionaryAttr ruleOf(const Imported &imported, StringRef parameter) {
    ModuleOp module = imported.module.get();
    auto state = module.lookupSymbol<StateOp>(parameter);
    return state->getAttrOfType<DictionaryAttr>("grad.optimizer");
  }
  double number(DictionaryAttr rule, StringRef name) {
    auto value = rule.getAs<FloatAttr>(name);
    return value ? value.getValueAsDouble() : NAN;
  }
  std::string groupOf(const Imported &imported, StringRef initializer) {
    for (const Verdict &verdict : imported.verdicts)
      if (verdict.initializer == initializer)
        return verdict.group;
    return "?";
  }
};

TEST_F(GroupsTest, TheFirstMatchCounts) {
  Parts parts;
  parts.optimizer = "optimizer { adamw { learning_rate: 0.01 } }";
  parts.rest = "group { pattern: \"*.bias\" weight_decay: 0 }\n"
               "group { pattern: \"fc2.*\" learning_rate: 0.002 }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_TRUE(said.empty()) << everything();
  EXPECT_EQ(groupOf(*imported, "fc1.weight"), "");
  EXPECT_EQ(groupOf(*imported, "fc1.bias"), "*.bias");
  EXPECT_EQ(groupOf(*imported, "fc2.bias"), "*.bias");
  EXPECT_EQ(groupOf(*imported, "fc2.weight"), "fc2.*");
  EXPECT_FALSE(ruleOf(*imported, "fc1.weight"));
  // The rate is an input of the step.
  EXPECT_FALSE(ruleOf(*imported, "fc2.weight"));
  DictionaryAttr bias = ruleOf(*imported, "fc2.bias");
  ASSERT_TRUE(bias);
  EXPECT_EQ(number(bias, "weight_decay"), 0);
  for (StringRef entry : {"train", "train.tail"})
    EXPECT_TRUE(StringRef(signature(function(*imported, entry)))
                    .ends_with("learning_rate *.bias f32 [] learning_rate *.bias; "
                               "learning_rate fc2.* f32 [] learning_rate fc2.*"))
        << signature(function(*imported, entry));
}

TEST_F(GroupsTest, AnOwnOptimizerIsTheWholeRule) {
  Parts parts;
  parts.optimizer = "optimizer { muon { coefficients: 2 coefficients: -1.5 coefficients: 0.5 } }";
  parts.rest =
      "group { pattern: \"*.bias\" optimizer { momentum { learning_rate: 0.1 nesterov: true } } }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  DictionaryAttr rule = ruleOf(*imported, "fc1.bias");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule.getAs<StringAttr>("name").getValue(), "momentum");
  EXPECT_TRUE(rule.contains("nesterov"));
  auto common = function(*imported, "train")->getAttrOfType<DictionaryAttr>("grad.optimizer");
  EXPECT_EQ(common.getAs<IntegerAttr>("iterations").getInt(), 5);
  EXPECT_EQ(common.getAs<DenseF64ArrayAttr>("coefficients").asArrayRef(),
            ArrayRef<double>({2, -1.5, 0.5}));
}

TEST_F(GroupsTest, FrozenGroupsDoNotTrain) {
  Parts parts;
  parts.rest = "group { pattern: \"fc1.*\" frozen: true }";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"fc2.weight", "fc2.bias"}));
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("fc1.weight").getKind(), StateKind::constant);
}

TEST_F(GroupsTest, ClipsAndAveragesReachTheStep) {
  for (auto [clip, name] : {std::pair("value: 0.5", "value"), {"norm: 0.5", "norm"}}) {
    Parts parts;
    parts.rest = std::string("clip { ") + clip + " } ema { decay: 0.75 }";
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    for (StringRef entry : {"train", "train.tail"}) {
      func::FuncOp step = function(*imported, entry);
      EXPECT_EQ(number(step->getAttrOfType<DictionaryAttr>("grad.clip"), name), 0.5);
      EXPECT_EQ(step->getAttrOfType<FloatAttr>("grad.average").getValueAsDouble(), 0.75);
    }
    EXPECT_FALSE(function(*imported, "forward")->hasAttr("grad.average"));
  }
}

TEST_F(GroupsTest, EqualAveragesCountSteps) {
  // 10 rows in batches of 4 are 3 steps an epoch.
  for (auto [swa, begin, every] : {std::tuple("begin: 7", 7, 1),
                                   {"begin: 2 every: 3", 2, 3},
                                   {"unit: EPOCHS begin: 4 every: 2", 12, 6}}) {
    Parts parts;
    parts.rest = std::string("epochs: 4 swa { ") + swa + " }";
    auto imported = training(parts);
    ASSERT_TRUE(succeeded(imported)) << everything();
    for (StringRef entry : {"train", "train.tail"}) {
      auto average = function(*imported, entry)->getAttrOfType<DictionaryAttr>("grad.average");
      ASSERT_TRUE(average);
      EXPECT_EQ(average.getAs<IntegerAttr>("begin").getInt(), begin) << swa;
      EXPECT_EQ(average.getAs<IntegerAttr>("every").getInt(), every) << swa;
    }
    EXPECT_EQ(imported->spec->swa().begin(), begin);
    EXPECT_FALSE(function(*imported, "forward")->hasAttr("grad.average"));
  }
}

struct Refused {
  const char *name, *optimizer, *rest;
  std::vector<StringRef> expected;
};

class RefusedTest : public Importing, public testing::WithParamInterface<Refused> {};

TEST_P(RefusedTest, AtTheFieldsLine) {
  Parts parts;
  parts.optimizer = GetParam().optimizer;
  parts.rest = GetParam().rest;
  std::string path = modelPath(std::string("refused-") + GetParam().name + ".textproto");
  std::ofstream(path) << std::string(parts);
  EXPECT_TRUE(failed(importTraining(context, path)));
  expectSaid(GetParam().expected);
}

constexpr const char *adam = "optimizer { adam {} }", *adamw = "optimizer { adamw {} }";

// The optimizer is in line 5; the blocks after the data begin in line 7.
const Refused refused[] = {
    {"ranges",
     "optimizer { nadam { beta2: 1 momentum_decay: -1 weight_decay: -0.1 } }",
     "",
     {":5:21): expected beta2 from 0 to below 1, found 1",
      "expected momentum_decay of 0 or more and finite, found -1",
      "expected weight_decay of 0 or more and finite, found -0.1"}},
    {"adagrad",
     "optimizer { adagrad { learning_rate_decay: -1 initial_accumulator: -1 epsilon: 0 } }",
     "",
     {"expected learning_rate_decay of 0 or more and finite, found -1",
      "expected initial_accumulator of 0 or more and finite, found -1",
      "expected epsilon above 0 and finite, found 0"}},
    {"lars",
     "optimizer { lars { trust_coefficient: 0 epsilon: -1 momentum: 1 } }",
     "",
     {"expected trust_coefficient above 0 and finite, found 0",
      "expected epsilon of 0 or more and finite, found -1",
      "expected momentum from 0 to below 1, found 1"}},
    {"adadelta",
     "optimizer { adadelta { rho: 1 l2: inf } }",
     "",
     {"expected rho from 0 to below 1, found 1", "expected l2 of 0 or more and finite, found inf"}},
    {"dampening",
     "optimizer { momentum { nesterov: true dampening: 0.5 } }",
     "",
     {":5:39): expected no dampening beside nesterov, found 0.5"}},
    {"muon",
     "optimizer { muon { coefficients: 1 iterations: 100 } }",
     "",
     {"expected three coefficients, found 1", "expected iterations from 1 to 99, found 100"}},
    {"coefficients",
     "optimizer { muon { coefficients: 1 coefficients: nan coefficients: 1 } }",
     "",
     {"expected coefficients that are finite, found nan"}},
    {"vectors",
     "optimizer { muon {} }",
     "",
     {":5:1): muon takes parameters of 2 dims or more, found \"fc1.bias\" (f32 [6]) and 1 more; "
      "give "
      "them another rule: group { pattern: \"fc1.bias\" optimizer { adamw {} } }"}},
    {"vectors-of-a-group",
     adam,
     "\ngroup { pattern: \"fc1.*\" optimizer { muon {} } }",
     {":8:26): muon takes parameters of 2 dims or more, found \"fc1.bias\" (f32 [6]); give them"}},
    {"pattern",
     adam,
     "group { pattern: \"fc1.wieght\" } group { pattern: \"conv*\" }",
     {":7:9): group: no initializer matches \"fc1.wieght\"; did you mean \"fc1.weight\"?",
      "group: no initializer matches \"conv*\""}},
    {"shadowed",
     adam,
     "group { pattern: \"fc*\" } group { pattern: \"fc1.*\" }",
     {"group: all that \"fc1.*\" matches is in groups before this one, the first match counts: "
      "move "
      "the group to before \"fc*\""}},
    {"no-pattern",
     adam,
     "group { learning_rate: 0.1 }",
     {"missing the group's pattern: add pattern: \"*.bias\""}},
    {"group-ranges",
     adam,
     "group { pattern: \"*\" learning_rate: 0 l2: -1 }",
     {"expected learning_rate above 0 and finite, found 0",
      "expected l2 of 0 or more and finite, found -1"}},
    {"no-such-decay",
     adam,
     "group { pattern: \"*\" weight_decay: 0 }",
     {"adam has no weight_decay; its decay is l2"}},
    {"no-such-l2",
     adamw,
     "group { pattern: \"*\" l2: 0 }",
     {"adamw has no l2; its decay is weight_decay"}},
    {"twice",
     adam,
     "group { pattern: \"*\" learning_rate: 1 l2: 1 optimizer { sgd { l2: -2 } } }",
     {"a group's optimizer has its own learning_rate: set it there",
      "a group's optimizer has its own l2: set it there",
      "expected l2 of 0 or more and finite, found -2"}},
    {"no-rule",
     adam,
     "group { pattern: \"*\" optimizer {} }",
     {"missing optimizer: add optimizer { adam { learning_rate: 1e-3 } }"}},
    {"frozen",
     adam,
     "group { pattern: \"*\" frozen: true l2: 1 optimizer { sgd {} } }",
     {"a frozen group has no l2", "a frozen group has no optimizer"}},
    {"clip", adam, "clip { norm: 0 }", {"expected norm above 0 and finite, found 0"}},
    {"clip-value", adam, "clip { value: nan }", {"expected value above 0 and finite, found nan"}},
    {"clip-nothing",
     adam,
     "clip {}",
     {"missing the limit: add global_norm: 1.0, norm: 1.0 or value: 0.5"}},
    {"clip-twice", adam, "clip { norm: 1 value: 1 }", {"a block like this holds one of them"}},
    {"ema", adam, "ema { decay: 1 }", {"expected decay from 0 to below 1, found 1"}},
    {"swa", adam, "swa {}", {"missing begin: add begin: 1000, or unit: EPOCHS begin: 75"}},
    {"swa-numbers",
     adam,
     "swa { begin: 0 every: 0 }",
     {"expected begin above 0, found 0", "expected every above 0, found 0"}},
    {"swa-ema",
     adam,
     "swa { begin: 5 } ema {}",
     {"a weight has one average: leave ema or swa out"}},
    {"swa-long",
     adam,
     "swa { unit: EPOCHS begin: 9223372036854775807 }",
     {"expected begin and every of at most 16777216 steps"}},
};

INSTANTIATE_TEST_SUITE_P(Groups, RefusedTest, testing::ValuesIn(refused), [](const auto &info) {
  std::string name = info.param.name;
  llvm::replace(name, '-', '_');
  return name;
});

} // namespace
