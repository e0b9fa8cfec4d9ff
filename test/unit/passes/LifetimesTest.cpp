// The lifetimes of storage in schedules with loops and branches.
#include "passes/memory/Lifetimes.h"

#include <gtest/gtest.h>

using namespace gradc;

namespace {

/// A schedule as text: "w0" writes storage 0, "r0" reads it, "m0" writes it at a moving place; each
/// is a separate node. "(" and ")" enclose the body of a loop, "[" and "]" that of an if.
std::vector<Lifetime> livesOf(llvm::StringRef schedule) {
  Lifetimes lifetimes;
  for (size_t i = 0; i < schedule.size(); ++i)
    switch (schedule[i]) {
    case '(':
    case '[':
      lifetimes.advance(); // the node that the body belongs to
      lifetimes.enter(schedule[i] == '(');
      break;
    case ')':
    case ']':
      lifetimes.leave();
      break;
    case ' ':
      break;
    default:
      char kind = schedule[i++];
      lifetimes.touch(unsigned(schedule[i] - '0'), kind != 'r', kind == 'm');
      lifetimes.advance();
    }
  return lifetimes.find();
}

void expectLife(llvm::StringRef schedule, int64_t first, int64_t last) {
  Lifetime life = livesOf(schedule).front();
  EXPECT_EQ(life.first, first) << schedule.str();
  EXPECT_EQ(life.last, last) << schedule.str();
}

TEST(Lifetimes, FromFirstToLastTouch) {
  expectLife("w1 w0 w1 r0 r1", 1, 3);
  expectLife("w0", 0, 0);
}

TEST(Lifetimes, WhatALoopFindsOrLeavesIsThereThroughoutIt) {
  expectLife("w0 ( w1 r0 w1 )", 0, 4);
  expectLife("( w1 w0 w1 ) r0", 1, 4);
}

TEST(Lifetimes, WhatEachIterationMakesAnewIsNot) {
  expectLife("( w1 w0 r0 w1 )", 2, 3);
  expectLife("( w1 ( w0 r0 ) w1 )", 3, 4);
  expectLife("( w1 w0 ( r0 w1 ) w1 )", 2, 5); // the inner loop reads it repeatedly
}

TEST(Lifetimes, WhatIsCarriedToTheNextIterationIsThereThroughout) {
  expectLife("( w1 r0 w0 w1 )", 1, 4);
  expectLife("( w1 m0 r0 w1 )", 1, 4);
}

TEST(Lifetimes, ABranchMayLeaveTheValueOfAnEarlierIteration) {
  expectLife("( w1 [ w0 ] r0 w1 )", 1, 5);
  expectLife("( w1 [ w0 r0 ] w1 )", 3, 4);
  expectLife("[ w0 ] r0", 1, 2);
}

TEST(Lifetimes, LoopsInLoops) {
  expectLife("w0 ( w1 ( r0 w1 ) w1 )", 0, 6);
  expectLife("( ( w0 ) r0 w1 )", 1, 4); // without an iteration, the outer loop's last value is read
}

} // namespace
