// Each group is a communicator of its own; marks in the numbers of exchanges tell them apart.
#include "runtime/ranks/GroupSums.h"

#include "runtime/ranks/SharedSums.h"

namespace gradc::runtime {

/// Joins the ranks of the same color, and sums through memory if they can share some.
Result<GroupSums::Group> GroupSums::join(Messages &messages, RankPages *pages, int color) {
  Group group;
  auto members = messages.split(color);
  if (!members)
    return members.status();
  group.messages = std::move(*members);
  auto shared = SharedSums::create(*group.messages, pages);
  if (!shared)
    return shared.status();
  group.sums = std::move(*shared);
  if (!group.sums)
    group.sums = std::make_unique<MessageSums>(*group.messages);
  return group;
}

Result<std::unique_ptr<GroupSums>> GroupSums::create(Messages &messages, RankPages *pages,
                                                     int modelRanks) {
  auto model = join(messages, pages, messages.rank() / modelRanks);
  if (!model)
    return model.status();
  auto data = join(messages, pages, messages.rank() % modelRanks);
  if (!data)
    return data.status();
  std::unique_ptr<GroupSums> made(new GroupSums(messages));
  made->model = std::move(*model);
  made->data = std::move(*data);
  return made;
}

Result<uint64_t> GroupSums::start(std::span<const Communicator::Piece> pieces,
                                  const Communicator::Exchange &exchange) {
  bool isOfData = exchange.group == Communicator::Group::data;
  auto started = (isOfData ? data : model).sums->start(pieces, exchange);
  return started ? Result<uint64_t>(*started | (isOfData ? dataMark : modelMark)) : started;
}

Status GroupSums::progress() {
  Status status = model.sums->progress();
  return status.ok() ? data.sums->progress() : status;
}

/// Advances the exchanges of both groups: stages may wait for each other in turn, each for a sum or
/// for a value that another one has yet to pass on.
Status GroupSums::waitFor(uint64_t exchange) {
  const Group &group = exchange & dataMark ? data : model;
  for (;;) {
    if (Status status = progress(); !status.ok())
      return status;
    if (group.sums->hasEnded(exchange & ~anyMark))
      return {};
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

Status GroupSums::settle() {
  Status status = model.sums->settle();
  return status.ok() ? data.sums->settle() : status;
}

uint64_t GroupSums::sentBytes() const { return model.sums->sentBytes() + data.sums->sentBytes(); }

} // namespace gradc::runtime
