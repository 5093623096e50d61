// SPDX-License-Identifier: MIT
// The subcommands: each adds itself to the program and runs when it was chosen.
#pragma once

namespace CLI {
class App;
}

namespace ria::cli {

void add_describe(CLI::App& program);
void add_index(CLI::App& program);
void add_query(CLI::App& program);
void add_eval(CLI::App& program);
void add_loop(CLI::App& program);
void add_datasets(CLI::App& program);
void add_study(CLI::App& program);
void add_methods(CLI::App& program);
void add_weights(CLI::App& program);
void add_weights_verify(CLI::App& weights);
void add_vocabulary(CLI::App& program);
void add_serve(CLI::App& program);
void add_simulate(CLI::App& program);
void add_train(CLI::App& program);
void add_demo(CLI::App& program);
void add_manual(CLI::App& program);

}  // namespace ria::cli
