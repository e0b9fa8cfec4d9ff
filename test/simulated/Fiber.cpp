// A switch saves the registers that a call preserves in the x86-64 ABI.
#include "test/simulated/Fiber.h"

#include <cstdint>
#include <sys/mman.h>

using namespace gradc::simulated;

extern "C" void simSwitch(void **from, void *to);
asm(R"(
.text
.globl simSwitch
.hidden simSwitch
.type simSwitch, @function
simSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.size simSwitch, .-simSwitch
.globl simBegin
.hidden simBegin
.type simBegin, @function
simBegin:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size simBegin, .-simBegin
)");
extern "C" void simBegin();

Fiber::Fiber()
    : stack(static_cast<char *>(
          mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
Fiber::~Fiber() { munmap(stack, stackBytes); }

void Fiber::reset(void (*function)(void *), void *argument) {
  // The stack as simSwitch leaves it: r15, r14, r13, r12, rbx, rbp, and the return address, so that
  // simBegin finds it aligned to 16 bytes.
  auto *top = reinterpret_cast<uint64_t *>(stack + stackBytes) - 9;
  uint64_t frame[] = {0,
                      0,
                      0,
                      reinterpret_cast<uint64_t>(argument),
                      reinterpret_cast<uint64_t>(function),
                      0,
                      reinterpret_cast<uint64_t>(&simBegin)};
  for (int i = 0; i < 7; ++i)
    top[i] = frame[i];
  own = top;
}

void Fiber::enter() { simSwitch(&caller, own); }
void Fiber::leave() { simSwitch(&own, caller); }
