namespace gradc {
namespace codegen { class Other {}; } // another namespace
class Twice : public Base {
};
struct Empty : Base {};
namespace {
struct Local {
};
} // namespace
} // namespace gradc
