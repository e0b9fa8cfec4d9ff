// Sends parts, adds up what arrives, and sends the sums.
#include "runtime/ranks/MessageSums.h"

#include "runtime/base/KeptUntilExit.h"
#include "runtime/base/Text.h"
#include "runtime/ranks/SumArray.h"

#include <algorithm>
#include <cstdlib>

namespace gradc::runtime {

struct MessageSums::Sum {
  uint64_t number = 0;
  SumArray array;
  int rank = 0, ranks = 1;
  bool isGathering = false;
  bool isInPlace = false; ///< values travel from and to their own memory
  /// Unless in place, the encoded array, later the encoded sums; then this rank's part from each
  /// other rank.
  std::vector<std::byte> buffer;
  std::vector<SumArray::Source> others;
  Messages::Requests requests;

  size_t encodedBytes() const { return isInPlace ? 0 : size_t(array.count()) * array.width(); }
  size_t receivedBytes() const {
    return isGathering ? 0 : size_t(array.partSize(rank)) * array.width();
  }
  size_t bufferBytes() const { return encodedBytes() + receivedBytes() * size_t(ranks - 1); }
  std::span<std::byte> encoded(int ofRank) {
    return {buffer.data() + size_t(array.begin(ofRank)) * array.width(),
            size_t(array.partSize(ofRank)) * array.width()};
  }
  std::span<std::byte> received(int from) {
    size_t index = size_t(from - (from > rank));
    return {buffer.data() + encodedBytes() + index * receivedBytes(), receivedBytes()};
  }
  /// Calls body(bytes) for each message that a part travels as, where it is or will be.
  template <typename Body> void forEachRun(int ofRank, Body &&body) {
    if (!isInPlace)
      return body(encoded(ofRank));
    array.forEachRun(array.begin(ofRank), array.begin(ofRank + 1),
                     [&](std::byte *values, size_t bytes) { body(std::span(values, bytes)); });
  }
  template <typename Body> void forEachOther(Body &&body) const {
    for (int other = 0; other < ranks; ++other)
      if (other != rank)
        body(other);
  }
  void pack(int ofRank) {
    if (!isInPlace)
      array.encode(array.begin(ofRank), array.begin(ofRank + 1), encoded(ofRank).data());
  }
  void unpack(int ofRank) {
    if (!isInPlace)
      array.decode(array.begin(ofRank), array.begin(ofRank + 1), encoded(ofRank).data());
  }
  void addUp() {
    others.assign(size_t(ranks), {});
    forEachOther([&](int other) { others[size_t(other)] = received(other).data(); });
    bool isEncoded = array.kind() == Kind::sum && !isInPlace;
    array.addUp(array.begin(rank), array.begin(rank + 1), others,
                isEncoded ? encoded(rank).data() : nullptr);
  }
};

MessageSums::MessageSums(Messages &messages) : messages(messages), transfers(messages) {}
MessageSums::~MessageSums() = default;

/// The smallest spare buffer that is large enough; else the largest.
std::vector<std::byte> MessageSums::takeSpare(size_t bytes) {
  auto isBetter = [&](const std::vector<std::byte> &a, const std::vector<std::byte> &b) {
    size_t x = a.capacity(), y = b.capacity();
    if ((x >= bytes) != (y >= bytes))
      return x >= bytes;
    return x >= bytes ? x < y : x > y;
  };
  std::vector<std::byte> taken;
  if (auto best = std::ranges::min_element(spare, isBetter); best != spare.end()) {
    taken = std::move(*best);
    spare.erase(best);
  }
  taken.resize(bytes);
  return taken;
}

/// Sends a part of the array.
Status MessageSums::send(Sum &sum, int part, int to, int tag) {
  Status status;
  sum.forEachRun(part, [&](std::span<const std::byte> bytes) {
    if (!status.ok() || bytes.empty())
      return;
    sent += bytes.size();
    status = messages.send(bytes, to, tag, sum.requests);
  });
  return status;
}

Status MessageSums::receive(Sum &sum, std::span<std::byte> bytes, int from, int tag) {
  return bytes.empty() ? Status() : messages.receive(bytes, from, tag, sum.requests);
}

/// Each half of a sum has its own tag; the last tags are reserved for `share` and StaleSums.
static int tagOf(uint64_t sum, bool isGathering) {
  return int(sum % (Messages::tags / 2 - 3)) * 2 + isGathering;
}

/// Below this many bytes per piece, messages cost more than copies into one message.
static constexpr uint64_t worthAMessage = 16 << 10;

Result<uint64_t> MessageSums::start(std::span<const Piece> pieces, const Exchange &exchange) {
  if (exchange.isTransfer())
    return transfers.start(pieces, exchange);
  auto sum = std::make_unique<Sum>();
  sum->number = ++started;
  sum->array.assign(pieces, exchange, size());
  sum->rank = rank();
  sum->ranks = size();
  sum->isGathering = exchange.kind == Kind::gather;
  uint64_t bytes = uint64_t(sum->array.count()) * sum->array.width();
  sum->isInPlace = sum->array.travelsAsIs() && bytes >= pieces.size() * worthAMessage;
  sum->buffer = takeSpare(sum->bufferBytes());
  active.push_back(std::move(sum));
  Sum &begun = *active.back();
  if (begun.isGathering)
    begun.pack(begun.rank);
  if (Status status = begun.isGathering ? sendSums(begun) : sendParts(begun); !status.ok())
    return status;
  return started;
}

Status MessageSums::sendParts(Sum &sum) {
  Status status;
  int tag = tagOf(sum.number, false);
  sum.forEachOther([&](int other) {
    std::span<std::byte> room = sum.received(other);
    // Message by message, as the other rank sends this rank's part.
    sum.forEachRun(rank(), [&](std::span<std::byte> bytes) {
      if (status.ok())
        status = receive(sum, room.first(bytes.size()), other, tag);
      room = room.subspan(bytes.size());
    });
  });
  sum.forEachOther([&](int other) {
    sum.pack(other);
    if (status.ok())
      status = send(sum, other, other, tag);
  });
  return status;
}

Status MessageSums::sendSums(Sum &sum) {
  Status status;
  int tag = tagOf(sum.number, true);
  sum.forEachOther([&](int other) {
    sum.forEachRun(other, [&](std::span<std::byte> bytes) {
      if (status.ok())
        status = receive(sum, bytes, other, tag);
    });
    if (status.ok())
      status = send(sum, rank(), other, tag);
  });
  return status;
}

/// Advances an active sum as far as its messages allow; a finished sum becomes spare.
Status MessageSums::advance(Sum &sum) {
  for (;;) {
    auto ended = messages.haveEnded(sum.requests);
    if (!ended || !*ended)
      return ended.status();
    sum.requests.clear();
    if (sum.isGathering)
      break;
    sum.addUp();
    if (sum.array.kind() == Kind::scatter)
      break;
    sum.isGathering = true;
    if (Status status = sendSums(sum); !status.ok())
      return status;
  }
  if (sum.isGathering)
    sum.forEachOther([&](int other) { sum.unpack(other); });
  sum.array.clearOthers(sum.rank);
  auto here = std::ranges::find(active, &sum, &std::unique_ptr<Sum>::get);
  spare.push_back(std::move(sum.buffer));
  active.erase(here);
  return {};
}

Status MessageSums::progress() {
  for (size_t i = 0; i < active.size();) {
    size_t before = active.size();
    if (Status status = advance(*active[i]); !status.ok())
      return status;
    i += active.size() == before;
  }
  return transfers.progress();
}

bool MessageSums::hasEnded(uint64_t exchange) const {
  if (Transfers::isOne(exchange))
    return transfers.hasEnded(exchange);
  return std::ranges::none_of(active, [&](const auto &one) { return one->number == exchange; });
}

Status MessageSums::waitFor(uint64_t sum) {
  if (Transfers::isOne(sum))
    return transfers.waitFor(sum);
  for (;;) {
    if (Status status = progress(); !status.ok())
      return status;
    if (hasEnded(sum))
      return {};
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

Status MessageSums::complete(Messages::Requests &requests) {
  for (;;) {
    auto ended = messages.haveEnded(requests);
    if (!ended || *ended)
      return ended.status();
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

/// The memory of a call of `share`.
struct MessageSums::Texts {
  std::vector<std::string> all; ///< [rank]
  std::vector<uint64_t> sizes;
};

/// Exchanges the sizes or, once they are known, the texts.
Status MessageSums::exchange(Texts &texts, bool isText) {
  Messages::Requests requests;
  for (int other = 0; other < size(); ++other) {
    if (other == rank())
      continue;
    std::string &theirs = texts.all[size_t(other)];
    const std::string &mine = texts.all[size_t(rank())];
    theirs.resize(isText ? texts.sizes[size_t(other)] : 0);
    auto in = isText ? std::as_writable_bytes(std::span(theirs))
                     : std::as_writable_bytes(std::span(&texts.sizes[size_t(other)], 1));
    auto out = isText ? std::as_bytes(std::span(mine))
                      : std::as_bytes(std::span(&texts.sizes[size_t(rank())], 1));
    int tag = Messages::tags - 2 + isText;
    Status status = in.empty() ? Status() : messages.receive(in, other, tag, requests);
    if (status.ok() && !out.empty())
      status = messages.send(out, other, tag, requests);
    if (!status.ok())
      return status;
  }
  return complete(requests);
}

Result<std::vector<std::string>> MessageSums::share(const std::string &mine) {
  auto texts = std::make_unique<Texts>();
  texts->all.resize(size_t(size()));
  texts->all[size_t(rank())] = mine;
  texts->sizes.assign(texts->all.size(), mine.size());
  Status status;
  for (bool isText : {false, true})
    if (status.ok())
      status = exchange(*texts, isText);
  if (status.ok())
    return std::move(texts->all);
  // Messages under way are not known to end, and heartbeats advance them while this rank leaves.
  keepUntilExit(std::move(texts));
  return status;
}

/// Splits a shared text into its parts, each of which ends with a zero byte.
static std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0, end; (end = text.find('\0', begin)) != text.npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  return parts;
}

Status MessageSums::agree(const Status &mine, std::span<const Fact> facts) {
  std::string said = text(int(mine.code()));
  said += '\0';
  for (const Fact &fact : facts)
    said.append(fact.value).append(1, '\0');
  auto all = share(said);
  if (!all)
    return all.status();
  // 1. The first failing rank reports its failure.
  for (int other = 0; other < size(); ++other)
    if (int code = std::atoi((*all)[size_t(other)].c_str()))
      return other == rank() ? mine : Status(Code(code), "");
  // 2. Rank 0 reports the first difference.
  std::vector<std::string_view> expected = split((*all)[0]);
  for (int other = 1; other < size(); ++other) {
    std::vector<std::string_view> found = split((*all)[size_t(other)]);
    for (size_t i = 0; i < facts.size(); ++i)
      if (found.size() != expected.size() || found[i + 1] != expected[i + 1])
        return Status::error(rank() ? ""
                                    : text("rank ", other, " differs from rank 0: ", facts[i].name,
                                           " is ", i + 1 < found.size() ? found[i + 1] : "unknown",
                                           ", expected ", expected[i + 1]));
  }
  return {};
}

} // namespace gradc::runtime
