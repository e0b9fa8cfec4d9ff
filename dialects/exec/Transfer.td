// The planned form of values that one rank gives to another.
#ifndef EXEC_TRANSFER
#define EXEC_TRANSFER

include "dialects/exec/Exec.td"

def Exec_TransferOp : Exec_Op<"transfer", [ParentOneOf<["EntryOp", "IfOp", "LoopOp"]>]> {
  let summary = "planned form: one half of a transfer between two ranks";
  let description = [{
    With `send`, gives a slice to rank `peer`; otherwise the slice becomes what that rank sends. Both halves have the same number, which no
    other transfer of the entry has. A transfer is asynchronous, as a collective is, but what is sent may be overwritten at once. With `rows`, the
    slice's rows are outermost, and those of the run are transferred alone.
    C1: peer and number are not negative.

    Example: `exec.transfer #exec.slice<arena 0 at 0 : tensor<64x10xf16>> peer 1 number 4 send`
  }];
  let arguments = (ins Exec_Slice:$slice, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$number, UnitAttr:$send, UnitAttr:$rows, OptionalAttr<ArrayAttr>:$nodes);
  let assemblyFormat = "$slice `peer` $peer `number` $number (`send` $send^)? (`rows` $rows^)? attr-dict";
}

#endif
