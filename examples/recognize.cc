// SPDX-License-Identifier: MIT
// Which of the pictures in a folder shows the same place as this one?
#include <cstdio>

#include "ria/ria.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: recognize FOLDER PICTURE\n"), 2;
  ria::Recognizer recognizer("resnet50-ria");
  ria::Map places = recognizer.map(ria::list_pictures(argv[1]));
  for (const ria::Match& match : places.search(recognizer.describe(argv[2]), 5)) {
    std::printf("%.3f  %s\n", match.score, places.place(match.place).name.c_str());
  }
}
