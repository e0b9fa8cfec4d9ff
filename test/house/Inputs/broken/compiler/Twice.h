namespace gradc {
namespace codegen { class Other {}; } // another namespace
class Twice : public Base {
};
namespace {
struct Local {
};
} // namespace
} // namespace gradc
