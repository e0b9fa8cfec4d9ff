def Grad_MatmulOp : Grad_Op<"matmul">;
def Grad_AddOp : Grad_Op<"add">;
def Grad_SelectOp : Grad_Op<"select">;
def Grad_ReadOp : Op<"read">;
