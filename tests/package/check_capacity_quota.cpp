// Asks how many nodes a quota allows, with nothing but the installed package.
#include <iostream>

#include "autoscaling/capacity_quotas.h"

int main() {
  headroom::CapacityQuotas quotas;
  headroom::CapacityQuota quota;
  quota.name = "all";
  quota.limits = {{"nodes", "3"}};
  headroom::Node node;
  node.name = "n1";
  if (!quotas.upsert(quota) || !quotas.upsert(node)) return 1;
  const auto check = quotas.check(node, 5);
  if (!check) return 1;
  std::cout << check->allowed << '\n';
}
