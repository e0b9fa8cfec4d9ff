// A row-major matrix is a transposed column-major one. The library therefore computes the
// transposed product: its left factor is our right one, and our rows are its columns.
#include "runtime/device/cuda/CublasLt.h"
#include "runtime/base/Text.h"

namespace gradc::runtime::cuda {
namespace {

/// Alignment of every slice of a launch, in bytes.
constexpr uint32_t sliceAlignment = 64;

/// A matrix of a batch in memory; consecutive lines are `leading` elements apart.
struct Lines {
  uint64_t lines, length;
  int64_t leading;
  bool isTransposed; ///< lines are the matrix' columns
  int64_t batch, batchStride;
};

/// False if neither rows nor columns are contiguous.
bool linesOf(const gradc_library_tensor &t, Lines &lines) {
  const int64_t *size = t.sizes + 2, *stride = t.strides + 2;
  lines.batch = t.sizes[1];
  lines.batchStride = t.strides[1];
  lines.isTransposed = stride[1] != 1 || stride[0] < size[1];
  if (lines.isTransposed && stride[0] != 1)
    return false;
  lines.lines = uint64_t(size[lines.isTransposed]);
  lines.length = uint64_t(size[!lines.isTransposed]);
  lines.leading = stride[lines.isTransposed];
  return lines.leading >= int64_t(lines.length);
}

class MatmulCall final : public LibraryCall {
public:
  MatmulCall(const CublasLt &lt, const gradc_artifact_call &call) : lt(lt), call(call) {}
  ~MatmulCall() override;
  Status prepare(uint64_t maxWorkspace);
  Status enqueue(void *const *slices, void *workspace, void *stream) const override;

private:
  Status describe();
  int describeEpilogue(const Lines &sum);
  int createLayout(const Lines &lines, lt::Object &layout);

  const CublasLt &lt;
  gradc_artifact_call call;
  lt::Object desc = nullptr, left = nullptr, right = nullptr, result = nullptr;
  lt::Heuristic chosen = {};
};

MatmulCall::~MatmulCall() {
  for (lt::Object layout : {left, right, result})
    if (layout)
      lt.layoutDestroy(layout);
  if (desc)
    lt.descDestroy(desc);
}

Status refused(const char *what, int code) {
  return Status::error(text("cuBLASLt refuses ", what, " (error ", code, ')'));
}

int MatmulCall::createLayout(const Lines &lines, lt::Object &layout) {
  int failed = lt.layoutCreate(&layout, lt::typeF32, lines.length, lines.lines, lines.leading);
  if (failed || lines.batch == 1)
    return failed;
  int32_t count = int32_t(lines.batch);
  failed = lt.layoutSet(layout, lt::batchCount, &count, sizeof count);
  return failed ? failed
                : lt.layoutSet(layout, lt::batchStride, &lines.batchStride, sizeof(int64_t));
}

int MatmulCall::describeEpilogue(const Lines &sum) {
  uint32_t epilogue = 0;
  if (call.kept != GRADC_NONE)
    epilogue |= lt::keeps;
  for (auto [ours, theirs] :
       {std::pair(GRADC_EPILOGUE_BIAS, lt::bias), std::pair(GRADC_EPILOGUE_RELU, lt::relu),
        std::pair(GRADC_EPILOGUE_GELU, lt::gelu),
        std::pair(GRADC_EPILOGUE_GELU_GRAD, lt::geluGrad)})
    if (call.epilogue & ours)
      epilogue |= theirs;
  if (epilogue == 0)
    epilogue = lt::asIs;
  int failed = lt.descSet(desc, lt::epilogue, &epilogue, sizeof epilogue);
  // These pointers are never dereferenced: they only tell the alignment.
  void *aligned = reinterpret_cast<void *>(uintptr_t(sliceAlignment));
  if (!failed && call.bias != GRADC_NONE)
    failed = lt.descSet(desc, lt::biasPointer, &aligned, sizeof aligned);
  if (failed || call.kept == GRADC_NONE)
    return failed;
  failed = lt.descSet(desc, lt::keptPointer, &aligned, sizeof aligned);
  if (!failed)
    failed = lt.descSet(desc, lt::keptLeading, &sum.leading, sizeof sum.leading);
  if (!failed && sum.batch > 1)
    failed = lt.descSet(desc, lt::keptBatchStride, &sum.batchStride, sizeof sum.batchStride);
  return failed;
}

Status MatmulCall::describe() {
  Lines lhs, rhs, sum;
  if (!linesOf(call.lhs, lhs) || !linesOf(call.rhs, rhs) || !linesOf(call.result, sum) ||
      sum.isTransposed)
    return Status::error(
        "cuBLASLt has no such matrices: neither rows nor columns lie in one piece");
  // f32 throughout, not TF32, which keeps only 10 mantissa bits of each factor.
  int failed = lt.descCreate(&desc, lt::computeF32, lt::typeF32);
  int32_t transposed = lt::transposed;
  if (!failed && rhs.isTransposed)
    failed = lt.descSet(desc, lt::transA, &transposed, sizeof transposed);
  if (!failed && lhs.isTransposed)
    failed = lt.descSet(desc, lt::transB, &transposed, sizeof transposed);
  if (!failed)
    failed = describeEpilogue(sum);
  if (!failed)
    failed = createLayout(rhs, left);
  if (!failed)
    failed = createLayout(lhs, right);
  if (!failed)
    failed = createLayout(sum, result);
  return failed ? refused("its description", failed) : Status();
}

Status MatmulCall::prepare(uint64_t maxWorkspace) {
  if (Status described = describe(); !described.ok())
    return described;
  lt::Object preference = nullptr;
  int failed = lt.preferenceCreate(&preference), found = 0;
  if (failed)
    return refused("a preference", failed);
  failed = lt.preferenceSet(preference, lt::maxWorkspace, &maxWorkspace, sizeof maxWorkspace);
  for (int attribute : {lt::alignmentA, lt::alignmentB, lt::alignmentC, lt::alignmentD})
    if (!failed)
      failed = lt.preferenceSet(preference, attribute, &sliceAlignment, sizeof sliceAlignment);
  if (!failed)
    failed =
        lt.heuristic(lt.handle, desc, left, right, result, result, preference, 1, &chosen, &found);
  lt.preferenceDestroy(preference);
  if (failed || found < 1 || chosen.state != 0)
    return refused("the product", failed ? failed : chosen.state);
  workspaceBytes = chosen.workspaceBytes;
  return {};
}

Status MatmulCall::enqueue(void *const *slices, void *workspace, void *stream) const {
  if (call.bias != GRADC_NONE)
    if (int failed = lt.descSet(desc, lt::biasPointer, &slices[call.bias], sizeof(void *)))
      return refused("a bias", failed);
  if (call.kept != GRADC_NONE)
    if (int failed = lt.descSet(desc, lt::keptPointer, &slices[call.kept], sizeof(void *)))
      return refused("a matrix beside the result", failed);
  float one = 1, zero = 0;
  void *out = slices[call.result.slice];
  int failed = lt.matmul(lt.handle, desc, &one, slices[call.rhs.slice], left,
                         slices[call.lhs.slice], right, &zero, out, result, out, result,
                         &chosen.algorithm, workspace, workspaceBytes, stream);
  return failed ? Status::error(text("cuBLASLt cannot run a product (error ", failed, ')'))
                : Status();
}

} // namespace

Transposition::~Transposition() {
  for (lt::Object layout : {source, target})
    if (layout)
      lt.layoutDestroy(layout);
  if (desc)
    lt.transformDestroy(desc);
}

Status Transposition::prepare(uint64_t rows, uint64_t columns) {
  int32_t transposed = lt::transposed;
  int failed = lt.transformCreate(&desc, lt::typeF32);
  if (!failed)
    failed = lt.transformSet(desc, lt::transformA, &transposed, sizeof transposed);
  if (!failed)
    failed = lt.layoutCreate(&source, lt::typeF32, columns, rows, int64_t(columns));
  if (!failed)
    failed = lt.layoutCreate(&target, lt::typeF32, rows, columns, int64_t(rows));
  return failed ? refused("a transposition", failed) : Status();
}

Status Transposition::enqueue(const void *from, void *to, void *stream) const {
  float one = 1, zero = 0;
  int failed = lt.transform(lt.handle, desc, &one, from, source, &zero, nullptr, nullptr, to,
                            target, stream);
  return failed ? Status::error(text("cuBLASLt cannot run a transposition (error ", failed, ')'))
                : Status();
}

static constexpr const char *cublasLtFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

// The oldest version with these calls: 12.0.
CublasLt::CublasLt()
    : Library({"cuBLASLt", "GRADC_LIBCUBLASLT", "cublasLt", cublasLtFiles, 120000}) {}

std::vector<Symbol> CublasLt::symbols() {
#define GRADC_CUBLASLT_SYMBOL(member, symbol, parameters)                                          \
  {symbol, reinterpret_cast<void **>(&member)},
  return {GRADC_CUBLASLT_CALLS(GRADC_CUBLASLT_SYMBOL)};
#undef GRADC_CUBLASLT_SYMBOL
}

Status CublasLt::prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                         std::unique_ptr<LibraryCall> &prepared) {
  auto made = std::make_unique<MatmulCall>(*this, call);
  Status status = made->prepare(maxWorkspace);
  prepared = std::move(made);
  return status;
}

} // namespace gradc::runtime::cuda
