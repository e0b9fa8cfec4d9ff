// Values that one rank gives to another.
#ifndef GRAD_TRANSFER
#define GRAD_TRANSFER

include "dialects/grad/GradDialect.td"

/// One half of a transfer from rank to rank. Both halves have the same number, which no other transfer of the step has.
/// `extents`: how the dims depend on the rows of the run, as in an `exec.kernel`; without it all are whole.
class Grad_Transfer<string mnemonic> : Op<Grad_Dialect, mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  dag transfer = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$peer, ConfinedAttr<I64Attr, [IntNonNegative]>:$number,
                      ConfinedAttr<I64Attr, [IntNonNegative]>:$turn, OptionalAttr<DenseI64ArrayAttr>:$extents);
}

def Grad_SendOp : Grad_Transfer<"send"> {
  let summary = "sends a value to another rank";
  let description = [{
    The value may be overwritten as soon as the send has started. The op has an effect: neither it nor its other half may be removed
    alone. It is created after differentiation. `turn`: a rank takes its turns in order.

    Example: `grad.send %y to 1 number 0 turn 2 : tensor<16x64xf32>`
  }];
  let arguments = !con((ins Grad_Tensor:$value), transfer);
  let assemblyFormat = "$value `to` $peer `number` $number `turn` $turn (`extents` $extents^)? attr-dict `:` type($value)";
}

def Grad_ReceiveOp : Grad_Transfer<"receive"> {
  let summary = "a value that another rank sends";
  let description = [{
    The value may depend on what this rank has sent, which no operand of an op would show: `after` are such values. They are computed
    first, so no kernel computes one of them together with an op that needs the received value. The op does not read them.

    Example: `%g = grad.receive from 1 after(%y) number 1 turn 3 : (tensor<16x64xf32>) -> tensor<16x64xf32>`
  }];
  let arguments = !con((ins Variadic<Grad_Tensor>:$after), transfer);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = [{
    `from` $peer `after` `(` $after `)` `number` $number `turn` $turn (`extents` $extents^)? attr-dict `:`
    functional-type($after, $result)
  }];
}

#endif
