namespace gradc {
class Other;
enum class Once {
};
struct alignas(64) Twice {
  int member;
};
struct Empty {};
namespace {
struct Local {
};
} // namespace
} // namespace gradc
