// Counters in each rank's segment hold its progress. A rank that waits long sleeps until another
// rank makes progress.
#include "runtime/ranks/SharedSums.h"

#include "runtime/ranks/SumArray.h"

#include <algorithm>
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

struct SharedSums::Sum {
  uint64_t number = 0;
  SumArray array;
  uint64_t first = 0, end = 0; ///< its chunks, numbered across all sums
  int64_t step = 1;            ///< values per rank in a chunk

  /// The values of a chunk that a rank owns.
  std::pair<int64_t, int64_t> range(int ofRank, uint64_t chunk) const {
    int64_t begin = array.begin(ofRank), size = array.partSize(ofRank);
    int64_t at = int64_t(chunk - first) * step;
    return {begin + std::min(at, size), begin + std::min(at + step, size)};
  }
};

SharedSums::SharedSums(Messages &messages) : messages(messages), agreements(messages) {}
SharedSums::~SharedSums() = default;

Result<std::unique_ptr<SharedSums>> SharedSums::create(Messages &messages, size_t ringBytes) {
  constexpr size_t slotBytes = 128 << 10, ofAllRanks = 256 << 20, leastSlots = 4;
  std::unique_ptr<SharedSums> sums(new SharedSums(messages));
  auto ranks = size_t(messages.size());
  // Whole cache lines for each owner.
  sums->partBytes = std::max<size_t>(slotBytes / ranks & ~size_t(63), 64);
  sums->slots =
      std::max(std::min(ringBytes, ofAllRanks / ranks) / (sums->partBytes * ranks), leastSlots);
  auto segments =
      HostSegments::map(sums->agreements, sizeof(Header) + sums->slots * sums->partBytes * ranks);
  if (!segments)
    return segments.status();
  sums->segments = std::move(*segments);
  sums->others.resize(ranks);
  if (!sums->segments)
    sums.reset();
  return sums;
}

SharedSums::Header &SharedSums::header(int rank) const {
  return *reinterpret_cast<Header *>(segments->of(rank));
}

/// The place in a rank's ring for the values of a chunk that rank `part` owns.
std::byte *SharedSums::slot(int ofRank, uint64_t chunk, int part) const {
  return segments->of(ofRank) + sizeof(Header) +
         (chunk % slots * size_t(size()) + size_t(part)) * partBytes;
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

void SharedSums::pack(const Sum &sum, uint64_t chunk) {
  for (int owner = 0; owner < size(); ++owner)
    if (owner != rank()) {
      auto [from, to] = sum.range(owner, chunk);
      sum.array.encode(from, to, slot(rank(), chunk, owner));
    }
}

void SharedSums::addUp(const Sum &sum, uint64_t chunk) {
  for (int other = 0; other < size(); ++other)
    others[size_t(other)] = other == rank() ? nullptr : slot(other, chunk, rank());
  auto [from, to] = sum.range(rank(), chunk);
  std::byte *out = slot(rank(), chunk, rank());
  if (sum.array.kind() == Kind::gather)
    sum.array.encode(from, to, out);
  else
    sum.array.addUp(from, to, others, sum.array.kind() == Kind::scatter ? nullptr : out);
}

void SharedSums::take(const Sum &sum, uint64_t chunk) {
  for (int owner = 0; owner < size(); ++owner)
    if (owner != rank()) {
      auto [from, to] = sum.range(owner, chunk);
      sum.array.decode(from, to, slot(owner, chunk, owner));
    }
}

/// The sum whose next chunk can pass the stage, or null.
SharedSums::Sum *SharedSums::nextOf(Stage stage) {
  uint64_t chunk = done[stage];
  if (chunk == chunks)
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
  header(rank()).done[stage].chunks.store(++done[stage]);
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
  for (; !active.empty() && active.front()->end <= done[taking]; active.pop_front()) {
    active.front()->array.clearOthers(rank());
    ended = active.front()->number;
    spare.push_back(std::move(active.front()));
  }
  return hasMoved;
}

bool SharedSums::canMove() { return nextOf(packing) || nextOf(adding) || nextOf(taking); }

Status SharedSums::progress() {
  if (!active.empty())
    advance();
  return agreements.progress();
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
  for (Clock::time_point since = Clock::now(); ended < sum;) {
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
  return {};
}

} // namespace gradc::runtime
