// SPDX-License-Identifier: MIT
#include <cstdio>

#include "ria/ria.h"

int main() {
  const ria::Recognizer recognizer("rootsift-ria");
  const ria::Image street = ria::render_street({}, ria::Condition::kDay, 96, 128, 1);
  std::printf(
      "ria %s: %ld dims\n", RIA_VERSION, static_cast<long>(recognizer.describe(street).size()));
}
