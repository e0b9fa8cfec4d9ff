namespace gradc {
class Other;
enum class Once {
};
struct Twice {
  int member;
};
namespace {
struct Local {
};
} // namespace
} // namespace gradc
