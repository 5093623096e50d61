// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM: a request to stop, then the end.
#pragma once

#include <stdexcept>
#include <stop_token>
#include <string>

namespace ria::cli {

inline constexpr int kInterruptedExit = 130;

/// From here on the first signal requests a stop, which a command follows between two pictures. One
/// that has not ended 1.5 s later, or at the next signal, is ended where it is: whole outputs and
/// what is kept for the next run stay, unfinished files go. A third signal does not wait for that.
/// Throws std::runtime_error. Call it once, before other threads are started.
void watch_for_interrupts();

/// Gives the command another time than 1.5 s to end by itself, in milliseconds: what it still has
/// to do is somebody else's.
void be_patient(int milliseconds);

/// The stop that the first signal requests.
std::stop_token stop_on_interrupt();

/// Thrown by a command that stopped as asked, where the library throws nothing.
struct CommandInterrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The last line of an interrupted command.
std::string interrupted_text(const std::string& what);

/// The command has ended by itself. Does not return if it is being ended by a signal.
void command_has_ended();

}  // namespace ria::cli
