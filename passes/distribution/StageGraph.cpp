// Places ops in program order, then follows what each stage's states and results need.
#include "passes/distribution/StageGraph.h"

#include "passes/entry/Ports.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Tensors of at most this many bytes are cheap to send to all stages.
static bool isSmall(Value v) {
  constexpr int64_t smallBytes = 64;
  return bytesOf(v) <= smallBytes;
}

const StageGraph::Place *StageGraph::placeOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? &places.find(op)->second : nullptr;
}

/// The first stage whose ops read a value, through ops of no stage; `open`: none does.
int64_t StageGraph::firstTaggedUser(Value value) const {
  int64_t first = open;
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  for (size_t i = 0; i < users.size(); ++i) {
    if (auto stage = users[i]->getAttrOfType<IntegerAttr>(stageName))
      first = first == open ? stage.getInt() : std::min(first, stage.getInt());
    else
      for (Operation *user : users[i]->getUsers())
        users.insert(user);
  }
  return first;
}

/// A state belongs to the first stage whose forward reads it. Constants are everywhere, and so are
/// small states that only updates read, such as counts of steps.
void StageGraph::findOwners() {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  for (auto read : function.getOps<ReadOp>()) {
    int64_t owner = shared;
    if (symbols.lookup<StateOp>(read.getState()).getKind() != StateKind::constant) {
      owner = firstTaggedUser(read);
      if (owner == open && isSmall(read))
        owner = shared;
    }
    auto [known, isNew] = owners.try_emplace(read.getStateAttr(), owner);
    if (!isNew && owner >= 0)
      known->second = known->second < 0 ? owner : std::min(known->second, owner);
  }
}

/// The stage of a value that depends on large states of no known stage: that of its first reader.
void StageGraph::close(Value value, int64_t stage) {
  Operation *op = value.getDefiningOp();
  if (!op || places[op].stage != open)
    return;
  places[op].stage = stage;
  if (auto read = dyn_cast<ReadOp>(op))
    owners[read.getStateAttr()] = stage;
  for (Value operand : op->getOperands())
    close(operand, stage);
}

int64_t StageGraph::stageOfWrite(Operation *op) {
  auto write = cast<WriteOp>(op);
  auto owner = owners.find(write.getStateAttr());
  if (owner != owners.end() && owner->second != open)
    return owner->second;
  const Place *value = placeOf(write.getValue());
  return value ? std::max(value->stage, shared) : shared;
}

/// An op without a stage runs where its largest operand is. Of small operands, it runs where all of
/// them are, or, if its result is large or they are of several stages, wherever it is needed.
int64_t StageGraph::chooseStage(Operation *op, const Place &own) {
  if (isa<WriteOp>(op))
    return stageOfWrite(op);
  int64_t largest = 0, stage = shared, fewest = stages, most = shared;
  bool isOpen = false, isLarge = false;
  for (Value v : op->getOperands()) {
    const Place *place = placeOf(v);
    if (!place || place->stage == shared)
      continue;
    if (place->stage == open) {
      isOpen = true;
      continue;
    }
    isLarge |= !isSmall(v);
    if (std::pair(bytesOf(v), place->stage) > std::pair(largest, stage)) {
      largest = bytesOf(v);
      stage = place->stage;
    }
    fewest = std::min(fewest, place->stage);
    most = std::max(most, place->stage);
  }
  if (stage == shared)
    return isOpen ? open : shared;
  if (!isLarge)
    return fewest == most && llvm::all_of(op->getResults(), isSmall) ? stage : shared;
  // In a part, forward values go to later stages only, and gradients to earlier ones.
  if (own.part >= 0 && own.part < parts)
    for (Value v : op->getOperands())
      if (const Place *place = placeOf(v); place && place->stage >= 0 && place->part == own.part &&
                                           place->isBackward == own.isBackward)
        stage = own.isBackward ? std::min(stage, place->stage) : std::max(stage, place->stage);
  return stage;
}

void StageGraph::place(Operation *op) {
  Place own;
  auto tag = op->getAttrOfType<IntegerAttr>(stageName);
  auto part = op->getAttrOfType<IntegerAttr>(partName);
  own.part = part ? part.getInt() : tag ? 0 : -1;
  own.isBackward = tag && op->hasAttr(backwardName);
  for (Value v : op->getOperands())
    if (const Place *place = placeOf(v)) {
      if (!part && !tag && place->part >= 0)
        own.part = parts;
      own.isBackward |= !tag && place->isBackward && place->part == own.part;
    }
  if (isa<ConstantOp>(op))
    own.stage = shared;
  else if (auto read = dyn_cast<ReadOp>(op))
    own.stage = owners.lookup(read.getStateAttr());
  else
    own.stage = tag ? tag.getInt() : chooseStage(op, own);
  places[op] = own;
  if (own.stage >= 0)
    for (Value v : op->getOperands())
      close(v, own.stage);
}

int64_t StageGraph::turnOf(Operation *op, int64_t stage) const {
  const Place &own = places.find(op)->second;
  if (own.part < 0)
    return 0;
  return own.part < parts ? turns.turnOf(stage, own.part, own.isBackward) : turns.last();
}

void StageGraph::need(Value value, int64_t stage, int64_t turn) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  int64_t at = places[op].stage;
  if (at < 0)
    at = stage;
  if (at != stage) {
    Transfer transfer{value, at, stage, turnOf(op, at), turn};
    auto [known, isNew] = found.insert({{value, stage}, transfer});
    known->second.receiveTurn = std::min(known->second.receiveTurn, turn);
  }
  if (included[size_t(at)].insert(op).second)
    work.emplace_back(op, at);
}

/// Each stage needs the new values of its states, and all results.
void StageGraph::findNeeds() {
  for (int64_t stage = 0; stage < stages; ++stage) {
    for (auto write : function.getOps<WriteOp>()) {
      int64_t at = places[write].stage;
      if ((at < 0 || at == stage) && included[size_t(stage)].insert(write).second)
        work.emplace_back(write, stage);
    }
    for (Value v : function.front().getTerminator()->getOperands())
      need(v, stage, turns.last());
  }
  while (!work.empty()) {
    auto [op, stage] = work.back();
    work.pop_back();
    int64_t turn = turnOf(op, stage);
    for (Value v : op->getOperands())
      need(v, stage, turn);
  }
}

LogicalResult StageGraph::orderTransfers() {
  for (auto &[key, transfer] : found) {
    // A value that is needed after all parts, such as the loss, is also computed there.
    if (transfer.receiveTurn == turns.last())
      transfer.sendTurn = turns.last();
    int64_t sent = turns.timeOf(transfer.from, transfer.sendTurn);
    int64_t received = turns.timeOf(transfer.to, transfer.receiveTurn);
    bool isOutside = transfer.sendTurn == 0 || transfer.sendTurn == turns.last();
    if (sent > received || (sent == received && !isOutside))
      return transfer.value.getDefiningOp()->emitOpError("compiler bug: stage ")
             << transfer.to << " needs the result before stage " << transfer.from << " has it";
    transfers.push_back(transfer);
  }
  auto key = [&](const Transfer &t) {
    return std::tuple(turns.timeOf(t.from, t.sendTurn), positions[t.value.getDefiningOp()],
                      cast<OpResult>(t.value).getResultNumber(), t.to);
  };
  llvm::sort(transfers, [&](const Transfer &a, const Transfer &b) { return key(a) < key(b); });
  if (transfers.size() > maxTransfers)
    return function.emitError("expected at most ")
           << maxTransfers << " transfers between the stages of a step, found " << transfers.size()
           << ": use fewer micro_batches or stages";
  return success();
}

bool StageGraph::mayDepend(const Transfer &receive, const Transfer &sent) const {
  if (sent.from != receive.to || sent.sendTurn > receive.receiveTurn)
    return false;
  const Place &mine = places.find(sent.value.getDefiningOp())->second;
  const Place &theirs = places.find(receive.value.getDefiningOp())->second;
  bool isLast = sent.sendTurn == turns.last() && receive.receiveTurn == turns.last();
  return mine.part < 0 || mine.part == theirs.part || isLast;
}

bool StageGraph::isCarriedTo(const Transfer &receive, Operation *op) const {
  const Place &from = places.find(op)->second;
  int64_t part = places.find(receive.value.getDefiningOp())->second.part;
  if (from.stage != receive.to || from.part < 0 || from.part + 1 != part || part >= parts ||
      turnOf(op, from.stage) >= receive.receiveTurn)
    return false;
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    auto to = places.find(user);
    return to != places.end() && to->second.part == part && runs(receive.to, user);
  });
}

LogicalResult StageGraph::run() {
  findOwners();
  for (Operation &op : function.front().without_terminator()) {
    positions[&op] = positions.size();
    place(&op);
  }
  // An op that no stage reads runs in none.
  findNeeds();
  return orderTransfers();
}

ExtentAnalysis gradc::extentsOfStep(func::FuncOp unrolled) {
  if (!unrolled->hasAttr(ranksName))
    return ExtentAnalysis(/*rows=*/1);
  ExtentAnalysis analysis(*batchOf(unrolled));
  analysis.setArguments(unrolled);
  analysis.setOther([&](Operation *op) { return visitCountOrWrite(op, analysis); });
  (void)analysis.visit(unrolled.front());
  return analysis;
}
