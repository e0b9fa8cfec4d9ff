// Counters in each rank's segment hold its progress. A rank that waits long sleeps until another
// rank makes progress.
#include "runtime/ranks/SharedSums.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gradc::runtime {

/// A rank's shared state. Only that rank writes it, except for `wakes`. Accesses are sequentially
/// consistent: either a rank that falls asleep sees another's progress, or the other sees it
/// asleep.
struct SharedSums::Header {
  struct alignas(64) Counter {
    std::atomic<uint64_t> chunks;
  };
  Counter done[stages];
  alignas(64) std::atomic<uint32_t> wakes; ///< a futex
  std::atomic<uint32_t> isAsleep;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

/// A slot of a ring. It holds the values of one chunk that one rank owns: another rank's
/// contribution to them, or the owner's sums.
struct alignas(64) SharedSums::Slot {
  uint32_t runs; ///< whose values are in the rank's own memory; 0: encoded values follow the slot
  RankPages::Place places[SumArray::Source::maxRuns];

  std::byte *values() { return reinterpret_cast<std::byte *>(this + 1); }
};

struct SharedSums::Sum {
  uint64_t number = 0;
  SumArray array;
  bool lendsSums = false;      ///< other ranks read sums in this rank's memory
  uint64_t first = 0, end = 0; ///< its chunks, numbered across all sums
  int64_t step = 1;            ///< values per rank in a chunk

  /// The values of a chunk that a rank owns.
  std::pair<int64_t, int64_t> range(int ofRank, uint64_t chunk) const {
    int64_t begin = array.begin(ofRank), size = array.partSize(ofRank);
    int64_t at = int64_t(chunk - first) * step;
    return {begin + std::min(at, size), begin + std::min(at + step, size)};
  }
};

SharedSums::SharedSums(Messages &messages, RankPages *pages)
    : messages(messages), ownPages(pages), agreements(messages) {}
SharedSums::~SharedSums() = default;

Result<std::unique_ptr<SharedSums>> SharedSums::create(Messages &messages, RankPages *pages,
                                                       size_t ringBytes) {
  constexpr size_t slotBytes = 128 << 10, ofAllRanks = 256 << 20, leastSlots = 4;
  std::unique_ptr<SharedSums> sums(new SharedSums(messages, pages));
  auto ranks = size_t(messages.size());
  // Whole cache lines for each owner.
  sums->partBytes = std::max<size_t>(slotBytes / ranks & ~size_t(63), 64);
  sums->slots =
      std::max(std::min(ringBytes, ofAllRanks / ranks) / (sums->partBytes * ranks), leastSlots);
  auto segments = HostSegments::map(
      sums->agreements, sizeof(Header) + sums->slots * (sizeof(Slot) + sums->partBytes) * ranks);
  if (!segments)
    return segments.status();
  sums->segments = std::move(*segments);
  sums->others.resize(ranks);
  if (!sums->segments)
    return std::unique_ptr<SharedSums>();
  std::vector<int> processes;
  for (int rank = 0; rank < int(ranks); ++rank)
    processes.push_back(sums->segments->process(rank));
  sums->views = std::make_unique<RankViews>(std::move(processes));
  return sums;
}

SharedSums::Header &SharedSums::header(int rank) const {
  return *reinterpret_cast<Header *>(segments->of(rank));
}

/// The slot in a rank's ring for the values of a chunk that rank `part` owns.
SharedSums::Slot &SharedSums::slot(int ofRank, uint64_t chunk, int part) const {
  std::byte *first = segments->of(ofRank) + sizeof(Header);
  uint64_t index = chunk % slots * size_t(size()) + size_t(part);
  return *reinterpret_cast<Slot *>(first + index * (sizeof(Slot) + partBytes));
}

Result<uint64_t> SharedSums::start(std::span<const Piece> pieces, const Exchange &exchange) {
  if (exchange.isTransfer())
    return agreements.start(pieces, exchange);
  std::unique_ptr<Sum> sum;
  if (spare.empty()) {
    sum = std::make_unique<Sum>();
  } else {
    sum = std::move(spare.back());
    spare.pop_back();
  }
  sum->number = ++started;
  sum->lendsSums = false;
  if (ownPages) {
    constexpr size_t rangesAtOnce = 16;          // a few milliseconds
    isUnsettled |= std::has_single_bit(started); // at the first sums, and ever more rarely
    isUnsettled = isUnsettled && !ownPages->makeHuge(rangesAtOnce);
  }
  sum->array.assign(pieces, exchange, size());
  sum->step = int64_t(partBytes / sum->array.width());
  int64_t most = 0, own = sum->array.partSize(rank());
  for (int owner = 0; owner < size(); ++owner)
    most = std::max(most, sum->array.partSize(owner));
  sum->first = chunks;
  chunks += uint64_t((most + sum->step - 1) / sum->step);
  sum->end = chunks;
  int64_t scattered = exchange.kind == Kind::gather ? 0 : sum->array.count() - own;
  int64_t gathered = exchange.kind == Kind::scatter ? 0 : own * (size() - 1);
  sent += uint64_t(scattered + gathered) * sum->array.width();
  active.push_back(std::move(sum));
  advance();
  return started;
}

/// Makes the slot say where the values are in this rank's memory. Returns false if other ranks
/// cannot read them there; the slot is then for encoded values.
bool SharedSums::lend(const Sum &sum, int64_t from, int64_t to, Slot &out) {
  out.runs = 0;
  if (!ownPages || !sum.array.travelsAsIs())
    return false;
  uint32_t runs = 0;
  bool areAllFound = true;
  sum.array.forEachRun(from, to, [&](const std::byte *values, uint64_t bytes) {
    auto place = areAllFound && runs < SumArray::Source::maxRuns ? ownPages->find(values, bytes)
                                                                 : std::nullopt;
    areAllFound = place.has_value();
    if (place)
      out.places[runs++] = *place;
  });
  if (areAllFound)
    out.runs = runs;
  return out.runs != 0;
}

void SharedSums::put(const Sum &sum, int64_t from, int64_t to, Slot &out) {
  if (!lend(sum, from, to, out))
    sum.array.encode(from, to, out.values());
}

/// The values that a slot holds, or whose places it names.
SumArray::Source SharedSums::source(int ofRank, uint64_t chunk, int part) {
  Slot &found = slot(ofRank, chunk, part);
  if (!found.runs)
    return found.values();
  SumArray::Source source;
  for (uint32_t run = 0; run < found.runs; ++run) {
    auto values = views->at(ofRank, found.places[run]);
    if (values)
      source.runs[run] = *values;
    else
      failure = values.status();
  }
  return source;
}

void SharedSums::pack(const Sum &sum, uint64_t chunk) {
  for (int owner = 0; owner < size(); ++owner)
    if (owner != rank()) {
      auto [from, to] = sum.range(owner, chunk);
      put(sum, from, to, slot(rank(), chunk, owner));
    }
}

void SharedSums::addUp(Sum &sum, uint64_t chunk) {
  auto [from, to] = sum.range(rank(), chunk);
  Slot &out = slot(rank(), chunk, rank());
  if (sum.array.kind() == Kind::gather) {
    put(sum, from, to, out);
    sum.lendsSums |= out.runs != 0;
    return;
  }
  bool isLent = sum.array.kind() == Kind::sum && lend(sum, from, to, out);
  sum.lendsSums |= isLent;
  for (int other = 0; other < size(); ++other)
    others[size_t(other)] = other == rank() ? SumArray::Source() : source(other, chunk, rank());
  if (failure.ok())
    sum.array.addUp(from, to, others,
                    isLent || sum.array.kind() == Kind::scatter ? nullptr : out.values());
}

void SharedSums::take(const Sum &sum, uint64_t chunk) {
  for (int owner = 0; owner < size(); ++owner)
    if (owner != rank()) {
      auto [from, to] = sum.range(owner, chunk);
      SumArray::Source values = source(owner, chunk, owner);
      if (failure.ok())
        sum.array.decode(from, to, values);
    }
}

/// The sum whose next chunk can pass the stage, or null.
SharedSums::Sum *SharedSums::nextOf(Stage stage) {
  uint64_t chunk = done[stage];
  if (chunk == chunks || !failure.ok())
    return nullptr;
  if (stage != packing && chunk >= done[stage - 1])
    return nullptr;
  // A slot is free once all ranks have taken its previous chunk.
  Stage before = stage == packing ? taking : Stage(stage - 1);
  uint64_t least = stage == packing ? chunk + 1 - std::min(slots, chunk + 1) : chunk + 1;
  for (int other = 0; other < size(); ++other)
    if (other != rank() && header(other).done[before].chunks.load() < least)
      return nullptr;
  if (stage == packing && done[taking] < least)
    return nullptr;
  for (const auto &sum : active)
    if (chunk < sum->end)
      return sum.get();
  return nullptr;
}

void SharedSums::run(Stage stage, Sum &sum) {
  uint64_t chunk = done[stage];
  if (stage == packing && sum.array.kind() != Kind::gather)
    pack(sum, chunk);
  else if (stage == adding)
    addUp(sum, chunk);
  else if (stage == taking && sum.array.kind() != Kind::scatter)
    take(sum, chunk);
  if (!failure.ok())
    return; // the other ranks wait for the chunk until they learn that this one has ended
  header(rank()).done[stage].chunks.store(++done[stage]);
}

/// Whether the oldest sum has ended: no rank reads its values any more.
bool SharedSums::frontHasEnded() const {
  if (active.empty() || active.front()->end > done[taking])
    return false;
  const Sum &front = *active.front();
  for (int other = 0; front.lendsSums && other < size(); ++other)
    if (other != rank() && header(other).done[taking].chunks.load() < front.end)
      return false;
  return true;
}

/// Runs all stages that are ready; returns whether there were any.
bool SharedSums::advance() {
  bool hasMoved = false;
  for (bool moves = true; moves; hasMoved |= moves) {
    moves = false;
    for (Stage stage : {packing, adding, taking}) {
      bool runs = false;
      for (Sum *sum; (sum = nextOf(stage)); runs = true)
        run(stage, *sum);
      if (runs)
        wakeOthers();
      moves |= runs;
    }
  }
  for (; frontHasEnded(); active.pop_front()) {
    active.front()->array.clearOthers(rank());
    ended = active.front()->number;
    spare.push_back(std::move(active.front()));
  }
  return hasMoved;
}

bool SharedSums::canMove() {
  return nextOf(packing) || nextOf(adding) || nextOf(taking) || frontHasEnded();
}

Status SharedSums::progress() {
  if (!active.empty())
    advance();
  return failure.ok() ? agreements.progress() : failure;
}

static long futex(std::atomic<uint32_t> &word, int operation, uint32_t value,
                  const timespec *timeout) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

void SharedSums::wakeOthers() {
  for (int other = 0; other < size(); ++other)
    if (Header &theirs = header(other); other != rank() && theirs.isAsleep.load()) {
      theirs.wakes.fetch_add(1);
      futex(theirs.wakes, FUTEX_WAKE, 1, nullptr);
    }
}

/// Sleeps until another rank makes progress, or for a short time.
void SharedSums::sleep() {
  constexpr timespec moment = {0, 20'000'000};
  Header &own = header(rank());
  uint32_t seen = own.wakes.load();
  own.isAsleep.store(1);
  if (!canMove()) // progress that a rank made before it could see this one asleep
    futex(own.wakes, FUTEX_WAIT, seen, &moment);
  own.isAsleep.store(0, std::memory_order_relaxed);
}

Status SharedSums::waitFor(uint64_t sum) {
  if (Transfers::isOne(sum))
    return agreements.waitFor(sum);
  using Clock = std::chrono::steady_clock;
  // Shorter than a wake-up.
  constexpr std::chrono::microseconds patience(50);
  for (Clock::time_point since = Clock::now(); ended < sum && failure.ok();) {
    if (advance()) {
      since = Clock::now();
      continue;
    }
    // Yields the CPU to another rank.
    if (Status status = messages.pause(); !status.ok())
      return status;
    if (Clock::now() - since > patience)
      sleep();
  }
  return failure;
}

} // namespace gradc::runtime
