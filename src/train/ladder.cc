// SPDX-License-Identifier: MIT
#include "ria/train.h"

namespace ria {

std::vector<TrainRung> train_ladder(const TrainOptions& options) {
  TrainOptions rung = options;
  rung.unfreeze = 0;
  rung.heads = 1;
  rung.mlp = 0;
  rung.learn_projection = false;
  std::vector<TrainRung> ladder{{"training_free", "training-free", rung}};
  rung.unfreeze = options.unfreeze;
  ladder.push_back({"unfreeze", "+ backbone unfrozen", rung});
  rung.learn_projection = true;
  ladder.push_back({"projection", "+ learnable projection", rung});
  rung.heads = options.heads;
  ladder.push_back({"heads", "+ four heads", rung});
  rung.mlp = options.mlp;
  ladder.push_back({"mlp", "RIA-FT", rung});
  return ladder;
}

}  // namespace ria
