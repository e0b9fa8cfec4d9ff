// The table of optimizers.
#include "Samples.h"

using namespace gradc::test;

static const std::vector<const char *> floats = {"f64", "f32", "f16", "bf16"};

/// The printed form of an update: with its parameter's type, or with all types.
enum Form { fixed, variable };

/// An update whose slots are as large as its parameter. The first scalar is the rate, a second one
/// the step, a third one the momentum.
static Sample update(const std::string &rule, const std::string &hyperparameters,
                     const std::vector<Domain> &slots, int scalars, Form form = fixed,
                     const std::string &shape = "2x5") {
  const char *whole = keep("tensor<" + shape + "xT>");
  std::vector<SampleOperand> operands = {{whole}, {whole}};
  for (Domain slot : slots)
    operands.push_back({whole, slot});
  operands.push_back({"tensor<T>"});
  if (scalars > 1)
    operands.push_back({"tensor<T>", Domain::one});
  if (scalars > 2)
    operands.push_back({"tensor<T>", Domain::unit});
  operands.push_back({"tensor<i1>", Domain::one});
  std::string names, types, results = whole;
  for (size_t i = 0; i < operands.size(); ++i) {
    names += (i ? ", %" : "%") + std::to_string(i);
    types += std::string(i ? ", " : "") + operands[i].type;
  }
  for (size_t i = 0; i < slots.size(); ++i)
    results += std::string(", ") + whole;
  std::string type =
      form == fixed ? std::string(whole) + ", tensor<T>" : "(" + types + ") -> (" + results + ")";
  return {keep(rule + " " + names + " {" + hyperparameters + "} : " + type), operands, floats};
}

static const std::string adam = "beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64";
static const std::vector<Domain> moments = {Domain::any, Domain::positive};

std::vector<Sample> gradc::test::optimizerSamples() {
  return {
      update("grad.sgd", "l2 = 0.1 : f64", {}, 1),
      update("grad.sgd", "weight_decay = 0.1 : f64", {}, 1),
      update("grad.momentum", "momentum = 0.9 : f64, l2 = 0.1 : f64", {Domain::any}, 2, variable),
      update("grad.momentum", "momentum = 0.9 : f64, nesterov", {Domain::any}, 2, variable),
      update("grad.momentum", "momentum = 0.9 : f64, dampening = 0.5 : f64, keras", {Domain::any},
             2, variable),
      update("grad.momentum", "momentum = 0.9 : f64, nesterov, cycled", {Domain::any}, 3, variable),
      update("grad.adam", adam + ", cycled", moments, 3, variable),
      update("grad.adam", adam + ", weight_decay = 0.01 : f64, l2 = 0.1 : f64", moments, 2,
             variable),
      update("grad.adam", adam + ", amsgrad", {Domain::any, Domain::positive, Domain::positive}, 2,
             variable),
      update("grad.adam", adam + ", keras", moments, 2, variable),
      {keep("grad.nadam %0, %1, %2, %3, %4, %5, %6, %7 {" + adam +
            ", momentum_decay = 0.5 : f64} : (tensor<2x5xT>, tensor<2x5xT>, tensor<2x5xT>, "
            "tensor<2x5xT>, tensor<T>, tensor<T>, tensor<T>, tensor<i1>) -> (tensor<2x5xT>, "
            "tensor<2x5xT>, tensor<2x5xT>, tensor<T>)"),
       {{"tensor<2x5xT>"},
        {"tensor<2x5xT>"},
        {"tensor<2x5xT>"},
        {"tensor<2x5xT>", Domain::positive},
        {"tensor<T>", Domain::unit},
        {"tensor<T>"},
        {"tensor<T>", Domain::one},
        {"tensor<i1>", Domain::one}},
       floats},
      update("grad.rmsprop", "alpha = 0.9 : f64, epsilon = 1.0e-8 : f64, l2 = 0.1 : f64",
             {Domain::positive}, 1, variable),
      update("grad.rmsprop",
             "alpha = 0.9 : f64, epsilon = 0.1 : f64, centered, momentum = 0.5 : f64",
             {Domain::positive, Domain::unit, Domain::any}, 1, variable),
      update("grad.rmsprop", "alpha = 0.9 : f64, epsilon = 0.1 : f64, momentum = 0.5 : f64, keras",
             {Domain::positive, Domain::any}, 1, variable),
      update("grad.adagrad", "epsilon = 0.1 : f64, learning_rate_decay = 0.5 : f64",
             {Domain::positive}, 2, variable),
      update("grad.adagrad", "epsilon = 0.1 : f64, keras", {Domain::positive}, 2, variable),
      update("grad.adadelta", "rho = 0.9 : f64, epsilon = 0.1 : f64",
             {Domain::positive, Domain::positive}, 1),
      update("grad.lion", "beta1 = 0.9 : f64, beta2 = 0.99 : f64", {Domain::any}, 1),
      update("grad.lamb", adam + ", weight_decay = 0.1 : f64", moments, 2),
      update("grad.lars", "momentum = 0.9 : f64, trust_coefficient = 0.5 : f64, nesterov",
             {Domain::any}, 1),
      update("grad.muon", "momentum = 0.9 : f64, iterations = 2 : i64, nesterov, match_adamw",
             {Domain::any}, 1),
      update("grad.muon", "momentum = 0.9 : f64, iterations = 2 : i64, weight_decay = 0.1 : f64",
             {Domain::any}, 1, fixed, "5x2"),
  };
}
