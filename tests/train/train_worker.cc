// SPDX-License-Identifier: MIT
// One worker of the tests: RANK, WORLD_SIZE, MASTER_PORT; its gradients and what it heard go to a
// file. "lose R" and "hang R": rank R ends or waits instead of taking part in the first step;
// "absent R": it does not even join.
#include <fstream>
#include <iostream>
#include <thread>

#include "support/torch_engine.h"

int main(int argc, char** argv) {
  using namespace ria;
  try {
    const std::string how = argc > 2 ? argv[2] : "";
    const std::string own_rank = std::string(" ") + std::getenv("RANK");
    if (how == "absent" + own_rank) return 0;
    EngineOptions options;
    options.num_threads = 1;
    options.workers.rank = std::stoi(std::getenv("RANK"));
    options.workers.count = std::stoi(std::getenv("WORLD_SIZE"));
    options.workers.port = std::stoi(std::getenv("MASTER_PORT"));
    options.workers.timeout_seconds = 8;
    const auto engine = SmallNetwork().engine(options);
    std::ofstream out(argv[1], std::ios::binary);
    for (const std::string& text : engine->exchange(std::string(options.workers.rank + 1, 'x'))) {
      out << text << ' ';
    }
    const Matrix own(1 + options.workers.rank, 2, static_cast<float>(options.workers.rank));
    const Matrix rows = engine->gather(own);
    out << rows.rows() << ' ' << rows(rows.rows() - 1, 1) << '\n';
    for (const std::string& text : engine->exchange("")) {
      if (!text.empty()) throw std::runtime_error("nothing was said, and something heard");
    }
    const Matrix none = engine->gather(Matrix(0, 3)), narrow = engine->gather(Matrix(2, 0));
    if (none.rows() != 0 || none.cols() != 3 || narrow.rows() != 4 || narrow.cols() != 0) {
      throw std::runtime_error("rows out of nothing");
    }
    if (how == "lose" + own_rank) std::_Exit(9);
    if (how == "hang" + own_rank) {
      std::this_thread::sleep_for(std::chrono::seconds(30));
    }
    // Unequal shares: places 0 to 2, and 3.
    const TrainBatch all = small_batch(8);
    const TrainBatch share = options.workers.rank == 0 ? part_of(all, 0, 6) : part_of(all, 6, 2);
    out.precision(9);
    for (const NamedTensor& gradient : engine->gradients(share)) {
      for (const float value : gradient.values) out << value << ' ';
    }
    const StepResult step = engine->step(share, 1e-3, 1e-2);
    out << step.loss << ' ' << engine->state().tensors[0].values[0] << '\n';
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
}
