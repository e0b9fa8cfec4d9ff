// Compiles one kernel given as text, runs it on random operands, and evaluates its region.
#ifndef TEST_UNIT_COMPILER_CODEGEN_KERNELRUNNER_H
#define TEST_UNIT_COMPILER_CODEGEN_KERNELRUNNER_H

#include "compiler/codegen/Codegen.h"
#include "dialects/grad/Grad.h"

#include <functional>
#include <string>
#include <vector>

namespace gradc::test {

using Kernel = void (*)(void *const *slices, int64_t begin, int64_t end, int64_t rows,
                        void *scratch);
using mlir::grad::HostTensor;

/// Opens an image and keeps it open.
class Image {
public:
  explicit Image(llvm::StringRef bytes);
  ~Image();
  Image(const Image &) = delete;
  Kernel find(const std::string &symbol) const;

private:
  int file = -1;
  void *handle = nullptr;
};

class KernelRunner {
public:
  /// `text` holds exec.kernel ops, of which the first is run. Code is compiled for x86-64-v3
  /// whatever the schedule, or for `native`, which this machine must then support.
  explicit KernelRunner(const std::string &text, const mlir::exec::Level *native = nullptr);
  ~KernelRunner();

  bool isReady() const { return kernel != nullptr; }
  /// The bytes of scratch memory that the kernel needs.
  size_t scratch() const { return scratchBytes; }
  /// The number of units, for a run of `rows` rows if the kernel takes rows.
  int64_t units(int64_t rows = 0);
  std::vector<HostTensor> randomOperands(unsigned seed);
  /// The operand that `run` writes each result over, the first that it may, as the memory plan
  /// does; the number of operands: none.
  std::vector<size_t> overwritten();
  /// A tensor of operand 0's type with these bytes.
  HostTensor operand(const void *bytes, size_t size);
  /// Runs the units range by range. Fails the test if bytes outside the results change.
  std::vector<HostTensor> run(const std::vector<HostTensor> &operands,
                              const std::vector<std::pair<int64_t, int64_t>> &ranges,
                              int64_t rows = 0);
  /// Evaluates the region op by op through each op's `evaluate`.
  std::vector<HostTensor> evaluate(const std::vector<HostTensor> &operands);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::exec::KernelOp op;
  std::unique_ptr<Image> image;
  Kernel kernel = nullptr;
  size_t scratchBytes = 0; ///< of the kernel
};

/// Runs all units at once, split in two at every place, and one by one backwards: the bits must be
/// the same, and close to the evaluated region. `prepare` changes the random operands.
void expectRight(const std::string &text, double tolerance = 2e-5,
                 const mlir::exec::Level *native = nullptr,
                 const std::function<void(std::vector<HostTensor> &)> &prepare = {});

} // namespace gradc::test

#endif
