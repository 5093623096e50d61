// SPDX-License-Identifier: MIT
// A camera loop: every frame is looked up in the map and added to it; drive.ria survives the power.
#include <ria/loop.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("close_loops FOLDER\n"), 2;
  ria::LoopCloser loops = ria::LoopCloser::open("drive.ria");
  for (const auto& file : ria::list_pictures(argv[1])) {  // or your camera's frames
    const ria::Image frame = ria::load_image(file);
    const ria::LoopResult seen = loops.add(frame, {.name = file.filename().string()});
    if (seen.loop) {
      std::printf(
          "%s shows %s, p = %.3f\n", file.c_str(), seen.place_name.c_str(), seen.probability);
    } else {
      std::printf("%s: %s\n", file.c_str(), ria::to_string(seen.reason).c_str());
    }
  }
}
