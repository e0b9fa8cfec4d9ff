// The model, spec and data of a multilayer perceptron.
#ifndef TEST_UNIT_COMPILER_PERCEPTRON_H
#define TEST_UNIT_COMPILER_PERCEPTRON_H

#include <cstdint>
#include <string>
#include <vector>

namespace gradc::test {

/// Writes a perceptron of ReLUs with random weights, a spec `train.textproto` without an optimizer,
/// and one batch of data, all zeros, into `folder`. `isFixed`: the model takes whole batches only.
void writePerceptron(const std::string &folder, const std::vector<int64_t> &widths, int64_t batch,
                     bool isFixed = false);

} // namespace gradc::test

#endif
