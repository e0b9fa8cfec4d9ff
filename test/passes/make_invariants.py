"""Writes a loop whose steps multiply by so many values from outside of it, one after another: make_invariants.py COUNT"""
import sys

count = int(sys.argv[1])
rows, factor = "tensor<4x8xf32>", "tensor<8x8xf32>"


def listed(text):
    return ", ".join(text.format(i) for i in range(count))


print(f"""module attributes {{exec.level = "x86-64-v3"}} {{
exec.kernel @transposed(%h: {rows}, %w: {factor}) {{
  %0 = grad.matmul %h, %w transpose_rhs : {rows}, {factor}
  exec.yield %0 : {rows}
}}
func.func @forward(%h: {rows}, %xs: tensor<5x4x8xf32>, {listed("%r{}: " + factor)}) -> {rows} {{
  %y = grad.scan 5 from (%h) over (%xs) with ({listed("%r{}")})
      : ({rows}, tensor<5x4x8xf32>, {listed(factor)}) -> {rows} {{
  ^bb0(%a0: {rows}, %x: {rows}, {listed("%m{}: " + factor)}):""")
for i in range(count):
    print(f"    %a{i + 1} = exec.launch @transposed(%a{i}, %m{i}) : ({rows}, {factor}) -> {rows}")
print(f"""    grad.yield %a{count} : {rows}
  }}
  return %y : {rows}
}}
}}""")
