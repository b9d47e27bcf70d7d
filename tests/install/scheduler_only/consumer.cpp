#include <cogen/scheduler/scheduler.hpp>

// Submits one prompt and expects it in the first plan.
int main() {
  cogen::scheduler::limits limits;
  cogen::scheduler::scheduler scheduler(limits);
  cogen::scheduler::run prompt;
  prompt.tokens = {1, 2, 3};
  scheduler.submit({}, prompt);
  const auto plan = scheduler.next();
  return plan.rows.size() == 1 && plan.rows[0].count == 3 ? 0 : 1;
}
