// Storage is live from its first to its last touch, or longer if a loop's next iteration needs it.
#include "passes/memory/Lifetimes.h"

using namespace gradc;

void Lifetimes::enter(bool isLoop) {
  bodies.push_back({current, isLoop, time, time});
  current = int(bodies.size()) - 1;
}

void Lifetimes::leave() {
  bodies[current].last = time - 1;
  current = bodies[current].parent;
}

void Lifetimes::touch(unsigned storage, bool isWrite, bool moves) {
  if (storage >= touches.size())
    touches.resize(storage + 1);
  touches[storage].push_back({time, current, isWrite, moves});
}

bool Lifetimes::isWithin(int body, int outer) const {
  while (body > outer) // a body has a greater number than those around it
    body = bodies[body].parent;
  return body == outer;
}

/// Whether a value stored before an iteration of the loop, or in an earlier one, may be read in or
/// after it. False only for storage that nothing but the loop touches, and that each iteration
/// writes before all other accesses and at every place that it reads.
bool Lifetimes::escapes(llvm::ArrayRef<Touch> all, int loop) const {
  const Touch *first = nullptr;
  for (const Touch &touch : all) {
    if (!isWithin(touch.body, loop) || touch.moves)
      return true;
    if (!first)
      first = &touch;
    if (!first->isWrite || !isWithin(touch.body, first->body))
      return true;
  }
  return false;
}

std::vector<Lifetime> Lifetimes::find() const {
  std::vector<Lifetime> lives;
  for (const auto &all : touches) {
    Lifetime life{all.empty() ? 0 : all.front().time, all.empty() ? -1 : all.back().time};
    for (const Touch &touch : all)
      for (int body = touch.body; body >= 0; body = bodies[body].parent)
        if (bodies[body].isLoop && escapes(all, body)) {
          life.first = std::min(life.first, bodies[body].first);
          life.last = std::max(life.last, bodies[body].last);
        }
    lives.push_back(life);
  }
  return lives;
}
