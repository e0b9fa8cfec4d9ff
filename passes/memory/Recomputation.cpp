// Greedy: at the node with peak memory, recomputes the result that is cheapest per byte.
#include "passes/memory/Recomputation.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/control/Control.h"
#include "passes/entry/NodeOrder.h"

using namespace mlir;
using namespace gradc;

/// An operand smaller than this share of the result is kept rather than recomputed.
static constexpr int64_t smallShare = 4;
/// The longest chain of launches that run again for one result.
static constexpr size_t maxChain = 8;

Recomputation::Recomputation(Block &block, const SymbolTable &symbols, const CostModel &costs)
    : block(block), symbols(symbols), costs(costs) {
  follow();
}

int64_t Recomputation::peakBytes() const { return live.empty() ? 0 : *llvm::max_element(live); }

void Recomputation::note(Value value, int64_t time) {
  auto tensor = tensors.find(storageRoot(value));
  if (tensor == tensors.end())
    return;
  tensor->second.life.last = std::max(tensor->second.life.last, time);
  if (!llvm::is_contained(tensor->second.uses, time))
    tensor->second.uses.push_back(time);
}

/// Computes all lifetimes.
void Recomputation::follow() {
  nodes.clear(), tensors.clear(), writers.clear();
  for (Operation &op : block) {
    if (!isNode(&op))
      continue;
    int64_t time = int64_t(nodes.size());
    nodes.push_back(&op);
    for (Value operand : op.getOperands())
      note(operand, time);
    for (OpResult result : op.getResults()) {
      tensors[result] = {result, arenaBytes(result, symbols), {time, time}, {}};
      if (FlatSymbolRefAttr buffer = storedBuffer(result))
        writers[buffer] = time;
    }
  }
  live.assign(nodes.size(), 0);
  for (auto [i, node] : llvm::enumerate(nodes))
    for (Region &region : node->getRegions())
      live[i] = std::max(live[i], Recomputation(region.front(), symbols, costs).peakBytes());
  for (const auto &[value, tensor] : tensors)
    for (int64_t time = tensor.life.first; time <= tensor.life.last; ++time)
      live[time] += tensor.bytes;
}

void Recomputation::reduceTo(int64_t bytes) {
  for (auto [i, node] : llvm::enumerate(nodes)) // a loop's results are recomputed in the loop
    for (Region &region : node->getRegions()) {
      Recomputation inner(region.front(), symbols, costs);
      inner.reduceTo(std::max<int64_t>(0, bytes - (live[i] - inner.peakBytes())));
    }
  follow();
  while (peakBytes() > bytes) {
    int64_t peak = llvm::max_element(live) - live.begin();
    std::optional<Choice> best;
    double bestPrice = 0;
    Value late;
    for (const auto &[value, tensor] : tensors) {
      std::optional<Choice> choice = choose(tensor, peak);
      if (!choice)
        continue;
      double price = choice->seconds / double(gainOf(tensor, *choice, peak));
      if (!best || price < bestPrice)
        best = std::move(choice), bestPrice = price, late = value;
    }
    if (!best)
      return;
    apply(*best, late);
    follow();
  }
}

/// The launches to recompute a tensor that is live at the peak only for later nodes.
std::optional<Recomputation::Choice> Recomputation::choose(const Tensor &tensor,
                                                           int64_t peak) const {
  if (tensor.bytes == 0 || tensor.life.first >= peak || tensor.life.last <= peak ||
      llvm::is_contained(tensor.uses, peak))
    return std::nullopt;
  Choice choice;
  choice.at = *llvm::find_if(tensor.uses, [&](int64_t use) { return use > peak; });
  if (!addLaunch(tensor.value, tensor.bytes, choice) || gainOf(tensor, choice, peak) <= 0 ||
      !fits(tensor, choice, peak))
    return std::nullopt;
  return choice;
}

/// Adds the launch that computes a tensor, after the launches of operands that must run again.
bool Recomputation::addLaunch(Value result, int64_t wanted, Choice &choice) const {
  auto launch = result.getDefiningOp<exec::LaunchOp>();
  if (!launch || launch->hasAttr(recomputedName) || choice.launches.size() == maxChain)
    return false;
  if (llvm::is_contained(choice.launches, launch))
    return true;
  for (Value operand : launch.getOperands())
    if (!provide(operand, wanted, choice))
      return false;
  choice.launches.push_back(launch);
  Cost cost = costs.kernel(symbols.lookup<exec::KernelOp>(launch.getKernel()));
  choice.seconds += cost.arithmetic + cost.traffic;
  return true;
}

/// Whether a buffer has not been overwritten when a node begins.
bool Recomputation::isStill(exec::LoadOp load, int64_t time) const {
  auto writer = writers.find(load.getBufferAttr());
  return writer == writers.end() || writer->second >= time;
}

/// Makes an operand available to the launches: it is live anyway, kept longer, or recomputed.
bool Recomputation::provide(Value operand, int64_t wanted, Choice &choice) const {
  Value root = storageRoot(operand);
  if (auto load = root.getDefiningOp<exec::LoadOp>())
    return isStill(load, choice.at);
  if (auto copy = latest.find(root); copy != latest.end())
    if (tensors.find(copy->second)->second.life.first < choice.at)
      root = copy->second;
  auto found = tensors.find(root);
  if (found == tensors.end() || found->second.bytes == 0 ||
      found->second.life.last >= choice.at) // an argument, a place of its own, or there anyway
    return true;
  const Tensor &tensor = found->second;
  bool isSmall = tensor.bytes * smallShare <= wanted;
  if (!isSmall) {
    Choice chained = choice;
    if (addLaunch(root, wanted, chained)) {
      choice = std::move(chained);
      return true;
    }
  }
  choice.added.push_back({{tensor.life.last + 1, choice.at}, tensor.bytes});
  return true;
}

/// The bytes that a choice frees at the peak.
int64_t Recomputation::gainOf(const Tensor &tensor, const Choice &choice, int64_t peak) const {
  int64_t gain = tensor.bytes;
  for (const auto &[life, bytes] : choice.added)
    gain -= life.covers(peak) ? bytes : 0;
  return gain;
}

/// The peak bytes of the results of a choice's launches while these run.
int64_t Recomputation::peakOf(const Choice &choice) const {
  llvm::DenseMap<Value, size_t> lastReads;
  for (auto [i, launch] : llvm::enumerate(choice.launches))
    for (Value operand : launch->getOperands())
      lastReads[storageRoot(operand)] = i;
  int64_t bytes = 0, peak = 0;
  llvm::DenseMap<size_t, int64_t> dying;
  for (auto [i, launch] : llvm::enumerate(choice.launches)) {
    for (OpResult result : launch->getResults()) {
      int64_t size = layoutBytes(result, symbols); // a copy has no place of its own
      bytes += size;
      dying[std::max(i, lastReads.lookup(result))] += size;
    }
    peak = std::max(peak, bytes);
    bytes -= dying.lookup(i);
  }
  return peak;
}

/// Whether memory stays below the peak wherever a choice increases it.
bool Recomputation::fits(const Tensor &tensor, const Choice &choice, int64_t peak) const {
  // Before node `at`, which has no results yet; the tensor is among what the launches compute.
  int64_t before = live[choice.at] - tensor.bytes;
  for (OpResult result : nodes[choice.at]->getResults())
    before -= arenaBytes(result, symbols);
  if (before + peakOf(choice) >= live[peak])
    return false;
  int64_t freed = tensor.life.first; // from the node after it until the launches
  for (int64_t use : tensor.uses)
    if (use < peak)
      freed = std::max(freed, use);
  std::vector<int64_t> more(nodes.size() + 1);
  for (const auto &[life, bytes] : choice.added) {
    more[life.first] += bytes;
    more[life.last + 1] -= bytes;
  }
  int64_t sum = 0;
  for (int64_t time = 0; time < int64_t(nodes.size()); ++time) {
    sum += more[time];
    int64_t gone = time > freed && time < choice.at ? tensor.bytes : 0;
    if (sum > gone && live[time] + sum - gone >= live[peak])
      return false;
  }
  return true;
}

/// `value`, read through the copy of its storage if there is one.
Value Recomputation::again(OpBuilder &builder, Value value,
                           const llvm::DenseMap<Value, Value> &copies) const {
  if (Value copy = copies.lookup(value))
    return copy;
  auto view = value.getDefiningOp<grad::ReshapeOp>();
  if (!view)
    return value;
  Value operand = again(builder, view.getOperand(), copies);
  if (operand == view.getOperand())
    return value;
  Operation *copy = builder.clone(*view);
  copy->setOperand(0, operand);
  return copy->getResult(0);
}

void Recomputation::apply(const Choice &choice, Value late) {
  Operation *before = nodes[choice.at];
  OpBuilder builder(before);
  llvm::DenseMap<Value, Value> copies;
  for (const auto &[value, copy] : latest)
    if (tensors.find(copy)->second.life.first < choice.at)
      copies[value] = copy;
  for (exec::LaunchOp launch : choice.launches) {
    SmallVector<Value> operands = llvm::map_to_vector(
        launch.getOperands(), [&](Value v) { return again(builder, v, copies); });
    auto copy = cast<exec::LaunchOp>(builder.clone(*launch));
    copy->setOperands(operands);
    copy->setAttr(recomputedName, builder.getUnitAttr());
    for (auto [from, to] : llvm::zip_equal(launch.getResults(), copy.getResults()))
      copies[from] = latest[from] = to;
  }
  llvm::DenseMap<Value, Value> replaced{{late, copies.lookup(late)}};
  for (int64_t time : tensors.find(late)->second.uses) {
    if (time < choice.at)
      continue;
    OpBuilder user(nodes[time]);
    for (OpOperand &operand : nodes[time]->getOpOperands())
      operand.set(again(user, operand.get(), replaced));
  }
}
