// Ranks over MPI: introduction, heartbeats, and the end.
#include "runtime/ranks/Ranks.h"

#include "runtime/base/Text.h"
#include "runtime/ranks/Beats.h"
#include "runtime/ranks/CpuShare.h"
#include "runtime/ranks/GroupSums.h"
#include "runtime/ranks/Launch.h"
#include "runtime/ranks/MessageSums.h"
#include "runtime/ranks/Mpi.h"
#include "runtime/ranks/SharedSums.h"
#include "runtime/ranks/StaleSums.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <unistd.h>

namespace gradc::runtime {

namespace {

class MpiRanks final : public Ranks {
public:
  explicit MpiRanks(std::unique_ptr<Mpi> opened)
      : mpi(std::move(opened)), sums(std::make_unique<MessageSums>(*mpi)) {}
  Status meet();

  int rank() const override { return mpi->rank(); }
  int size() const override { return mpi->size(); }
  Result<uint64_t> start(std::span<const Piece> pieces, const Exchange &exchange) override {
    if (isApart())
      return stale->start(pieces, exchange);
    if (exchange.group == Group::data && replicas() == 1)
      return uint64_t(0); // the sum of one rank is its value; no exchange has this number
    return groups && exchange.group != Group::all ? groups->start(pieces, exchange)
                                                  : sums->start(pieces, exchange);
  }
  int modelRanks() const override { return ofModel; }
  Status setModelRanks(int count) override;
  std::vector<int64_t> divide(std::span<const gradc_artifact_cut> cuts) const override {
    return divideCuts(cuts, size(), servers ? size() - servers : 0);
  }
  void setServers(int count) override { servers = count; }
  void setStaleness(int64_t steps) override {
    stale = std::make_unique<StaleSums>(*mpi, steps);
    beats->setStepsApart();
  }
  bool stepsApart() const override { return bool(stale); }
  int runsPerStep() const override { return stale ? stale->runsPerStep() : 1; }
  Status beginRun(int64_t steps, bool asksToStop) override {
    return stale ? stale->begin(steps, asksToStop) : Status();
  }
  Status endRun(bool proceeded) override { return stale ? stale->end(proceeded) : Status(); }
  int64_t stopsAfter() const override { return stale ? stale->stopsAfter() : -1; }
  bool isFirstToFail() const override { return stale && stale->isFirstToFail(); }
  Status progress() override;
  Status waitFor(uint64_t sum) override {
    if (isApart())
      return stale->waitFor(sum);
    return GroupSums::isOne(sum) ? groups->waitFor(sum) : sums->waitFor(sum);
  }
  Status settle() override {
    Status status = sums->settle();
    return status.ok() && groups ? groups->settle() : status;
  }
  Result<std::vector<std::string>> share(const std::string &mine) override {
    return sums->share(mine);
  }
  Status agree(const Status &mine, std::span<const Fact> facts) override {
    Status agreed = sums->agree(mine, facts);
    endsTogether = !agreed.ok() && !beats->hasLost();
    return agreed;
  }
  uint64_t sentBytes() const override {
    return sums->sentBytes() + (stale ? stale->sentBytes() : 0) +
           (groups ? groups->sentBytes() : 0);
  }

  Pages *pages() override {
    return stale ? nullptr : ownPages.get(); // independent workers send messages
  }

  int cpus() const override { return ownCpus; }
  void setStall(double seconds) override { beats->setStall(seconds); }
  void atStep(int64_t step) override { beats->atStep(step); }
  void atCheckpoint(const std::string &file) override { reportCheckpoint(file); }
  Status leave(int code) override;

private:
  /// Whether exchanges are those of a worker and its server.
  bool isApart() const { return stale && stale->isRunning(); }

  std::unique_ptr<Mpi> mpi;
  std::unique_ptr<RankPages> ownPages; ///< null: ranks do not read each other's memory
  std::unique_ptr<Communicator> sums;
  std::unique_ptr<StaleSums> stale;  ///< null: steps are synchronous
  std::unique_ptr<GroupSums> groups; ///< null: each group is all ranks, or one
  std::unique_ptr<Beats> beats;
  int ownCpus = 1;
  int servers = 0;
  int ofModel = 1;
  bool endsTogether = false; ///< all ranks have agreed to fail
};

} // namespace

/// Exchanges names. A rank whose process is visible is noticed at once when it ends. Ranks that all
/// run on one host sum through shared memory.
Status MpiRanks::meet() {
  auto started = Beats::start(*mpi);
  if (!started)
    return started.status();
  beats = std::move(*started);
  mpi->watch(beats.get());
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  auto all = share(text(getpid(), ' ', availableCpus(), ' ', host));
  if (!all)
    return all.status();
  std::vector<Beats::Peer> peers;
  std::vector<std::string_view> here;
  for (int other = 0; other < size(); ++other) {
    std::string_view whole = (*all)[size_t(other)];
    size_t cpus = whole.find(' ') + 1, end = whole.find(' ', cpus);
    std::string_view name = whole.substr(end + 1);
    int process = 0;
    std::from_chars(whole.data(), whole.data() + whole.size(), process);
    if (name == host)
      here.push_back(whole.substr(cpus, end - cpus));
    bool isSeen = name == host && kill(process, 0) == 0;
    peers.push_back(
        {text("rank ", other, " (process ", process, " on '", name, "')"), isSeen ? process : 0});
  }
  ownCpus = shareOfCpus(availableCpus(), here);
  bool isOneHost = here.size() == all->size();
  beats->introduce(std::move(peers));
  if (isOneHost) {
    ownPages = RankPages::create();
    auto shared = SharedSums::create(*mpi, ownPages.get());
    if (!shared)
      return shared.status();
    if (*shared)
      sums = std::move(*shared);
    else
      ownPages.reset();
  }
  // No rank may end before every rank has seen the others.
  Status agreed = agree({}, {});
  if (agreed.ok())
    reportMeeting();
  return agreed;
}

Status MpiRanks::setModelRanks(int count) {
  ofModel = count;
  if (count == 1 || count == size())
    return {};
  auto made = GroupSums::create(*mpi, ownPages.get(), count);
  if (made)
    groups = std::move(*made);
  return made.status();
}

Status MpiRanks::progress() {
  if (isApart())
    return stale->progress();
  Status status = sums->progress();
  return status.ok() && groups ? groups->progress() : status;
}

Status MpiRanks::leave(int code) {
  Status together = Status(Code(code), "");
  // After a signal all ranks end after the same step, and rank 0 writes a checkpoint.
  bool isSignalled = code > int(Code::signal);
  if (code == 0 || isSignalled || endsTogether)
    together = agree({}, {});
  if (together.ok()) {
    beats->expectSilence();
    together = agree({}, {}); // no rank ends before all ranks expect it
  }
  bool isTogether = together.ok();
  if (code == 0)
    code = int(together.code());
  reportExit(code, beats->lostRanks());
  if (!isTogether)
    beats->fail(Code(code));
  mpi->watch(nullptr);
  beats->stop();
  if (isTogether)
    mpi->finalize(); // until then messages may arrive in the buffers of `beats`
  return together;
}

Result<std::unique_ptr<Ranks>> joinRanks() {
  auto mpi = Mpi::open();
  if (!mpi) {
    Status failed = mpi.status();
    bool isFirst = reportExit(int(failed.code())); // usually all ranks fail for the same reason
    return isFirst ? failed : Status(failed.code(), "");
  }
  auto ranks = std::make_unique<MpiRanks>(std::move(*mpi));
  if (Status status = ranks->meet(); !status.ok())
    return status;
  return std::unique_ptr<Ranks>(std::move(ranks));
}

} // namespace gradc::runtime
