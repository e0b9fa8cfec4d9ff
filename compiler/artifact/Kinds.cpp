// Element types and roles, which are not enumerated where they come from.
#include "compiler/artifact/Kinds.h"

using namespace mlir;

gradc_dtype gradc::elementKind(Type t) {
  if (t.isF32())
    return GRADC_F32;
  if (t.isF64())
    return GRADC_F64;
  if (t.isF16())
    return GRADC_F16;
  if (t.isBF16())
    return GRADC_BF16;
  // Only ports have narrow types.
  int narrow = llvm::TypeSwitch<Type, int>(t)
                   .Case<Float8E4M3FNType>([](auto) { return GRADC_F8E4M3FN; })
                   .Case<Float8E4M3FNUZType>([](auto) { return GRADC_F8E4M3FNUZ; })
                   .Case<Float8E5M2Type>([](auto) { return GRADC_F8E5M2; })
                   .Case<Float8E5M2FNUZType>([](auto) { return GRADC_F8E5M2FNUZ; })
                   .Case<Float8E8M0FNUType>([](auto) { return GRADC_F8E8M0; })
                   .Case<Float4E2M1FNType>([](auto) { return GRADC_F4E2M1; })
                   .Default([](Type) { return 0; });
  if (narrow)
    return gradc_dtype(narrow);
  bool isUnsigned = t.isUnsignedInteger();
  switch (t.getIntOrFloatBitWidth()) {
  case 1:
    return GRADC_BOOL;
  case 2:
    return isUnsigned ? GRADC_U2 : GRADC_I2;
  case 4:
    return isUnsigned ? GRADC_U4 : GRADC_I4;
  case 8:
    return isUnsigned ? GRADC_U8 : GRADC_I8;
  case 16:
    return isUnsigned ? GRADC_U16 : GRADC_I16;
  case 32:
    return isUnsigned ? GRADC_U32 : GRADC_I32;
  default:
    return isUnsigned ? GRADC_U64 : GRADC_I64;
  }
}

gradc_role gradc::roleOf(StringRef name) {
  for (unsigned i = 0; i < GRADC_ROLES; ++i)
    if (name == gradc_role_name(gradc_role(i)))
      return gradc_role(i);
  return GRADC_ROLE_DATA;
}
