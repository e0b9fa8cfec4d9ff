// Sample operands and attributes of every op, for the contract test.
#ifndef TEST_UNIT_DIALECTS_SAMPLES_H
#define TEST_UNIT_DIALECTS_SAMPLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace gradc::test {

/// The range of an operand's random numbers; all stay away from 0, where many ops have a kink.
enum class Domain {
  any,      ///< +-[0.1, 2]; integers -5..5 without 0 (unsigned: 1..5)
  positive, ///< [0.3, 2]
  unit,     ///< [0.1, 0.9]
  labels,   ///< integers 0..3
  indices,  ///< integers -4..4
  one,      ///< 1, or true
  zero,     ///< has 0 among its numbers
};

struct SampleOperand {
  /// With T for the varying element type.
  const char *type;
  Domain domain = Domain::any;
};

struct Sample {
  /// The op in IR; its operands are %0, %1, ...
  const char *ir;
  std::vector<SampleOperand> operands;
  /// The element types that T stands for, f64 first where gradients are to be checked.
  std::vector<const char *> elements;

  /// "grad.matmul" of "grad.matmul %0, %1 : ...".
  llvm::StringRef opName() const { return llvm::StringRef(ir).split(' ').first; }
};

/// All samples.
llvm::ArrayRef<Sample> samples();
/// The samples of optimizers.
std::vector<Sample> optimizerSamples();
/// A copy of a composed string that lives to the end of the program: samples own nothing.
const char *keep(const std::string &text);

} // namespace gradc::test

#endif
