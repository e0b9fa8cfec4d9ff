bool isProduct(Operation *op) { return isa<MatmulOp>(op); }
struct Fold : OpRewritePattern<grad::AddOp> {};
auto add = value.getDefiningOp<AddOp>();
auto both = isa<ReadOp, AddOp, MatmulOp>(op);
auto dims = op->getAttrOfType<DenseI64ArrayAttr>("dims");
// Allowed: a state, another dialect's op, an interface, what one phase tells another.
auto read = dyn_cast<ReadOp>(op);
auto chosen = dyn_cast<arith::SelectOp>(op);
auto product = dyn_cast<ContractionOpInterface>(op);
auto level = module->getAttrOfType<StringAttr>("exec.level");
