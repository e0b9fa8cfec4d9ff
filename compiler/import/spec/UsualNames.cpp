// A table of names that specs of other programs have made usual.
#include "compiler/import/spec/UsualNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

std::string gradc::fieldOfUsualName(StringRef name, ArrayRef<std::string> fields) {
  // A name with several meanings has several lines; the block has one of the fields.
  static constexpr std::pair<StringRef, StringRef> meanings[] = {
      // Optimizers.
      {"lr", "learning_rate"},
      {"lr_decay", "learning_rate_decay"},
      {"betas", "beta1"},
      {"eps", "epsilon"},
      {"rho", "alpha"},
      {"alpha", "rho"},
      {"weight_decay", "l2"},
      {"ns_steps", "iterations"},
      {"ns_coefficients", "coefficients"},
      // Schedules.
      {"T_max", "length"},
      {"T_0", "length"},
      {"T_mult", "growth"},
      {"total_iters", "length"},
      {"total_iters", "steps"},
      {"total_steps", "length"},
      {"eta_min", "end"},
      {"min_lr", "minimum"},
      {"gamma", "factor"},
      {"step_size", "size"},
      {"start_factor", "start"},
      {"start_factor", "factor"},
      {"end_factor", "end"},
      {"pct_start", "rise"},
      {"div_factor", "initial_divisor"},
      {"final_div_factor", "final_divisor"},
      // Steps, losses, compression.
      {"max_norm", "global_norm"},
      {"max_grad_norm", "clip"},
      {"accumulation_steps", "micro_batches"},
      {"gradient_accumulation_steps", "micro_batches"},
      {"batch_size", "size"},
      {"num_classes", "classes"},
      {"pos_weight", "positive_weight"},
      {"weight", "class_weight"},
      {"lora_alpha", "alpha"},
      {"lora_dropout", "dropout"},
      {"target_modules", "pattern"},
      {"r", "rank"},
      {"amount", "sparsity"},
      {"final_sparsity", "sparsity"},
      {"frequency", "every"},
  };
  for (auto [usual, own] : meanings)
    if (usual == name && is_contained(fields, own))
      return own.str();
  return "";
}
