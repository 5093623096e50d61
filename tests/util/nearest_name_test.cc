// SPDX-License-Identifier: MIT
#include "util/nearest_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "ria/method.h"

namespace ria {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using Names = std::vector<std::string>;

Names method_names() {
  Names names;
  for (const Method& method : methods()) names.push_back(method.name);
  return names;
}

TEST(NearestName, IsTheNameItselfInAnyCaseAndWithEitherDash) {
  const Names known = method_names();
  for (const std::string& name : known) {
    std::string other = name;
    for (char& c : other) {
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    EXPECT_THAT(nearest_names(other, known), ElementsAre(name)) << other;
  }
}

// Every letter of every name is left out, doubled, changed and swapped with the next.
TEST(NearestName, IsFoundAfterAnySingleMistake) {
  const Names known = method_names();
  for (const std::string& name : known) {
    for (std::size_t i = 0; i < name.size(); ++i) {
      Names mistakes = {name, name, name};
      mistakes[0].erase(i, 1);
      mistakes[1].insert(i, 1, name[i]);
      mistakes[2][i] = '~';
      if (i + 1 < name.size()) {
        mistakes.push_back(name);
        std::swap(mistakes.back()[i], mistakes.back()[i + 1]);
      }
      for (const std::string& mistake : mistakes) {
        const bool another = std::find(known.begin(), known.end(), mistake) != known.end();
        if (another) continue;
        EXPECT_THAT(nearest_names(mistake, known, known.size()), Contains(name)) << mistake;
      }
    }
  }
}

TEST(NearestName, IsFoundByItsBeginningAndByAPart) {
  const Names backbones = backbone_names();
  EXPECT_THAT(nearest_names("dinov2-vitl", backbones),
              ElementsAre("dinov2-vitl14", "dinov2-vitl14-reg"));
  EXPECT_THAT(nearest_names("vitb8", backbones), ElementsAre("dino-vitb8"));
  EXPECT_THAT(nearest_names("resnet50-64", backbones), Contains("resnet50"));
  const Names found = nearest_names("RESNET50", method_names());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], "resnet50-ria");
  EXPECT_LE(found.size(), 3u);
}

TEST(NearestName, IsNothingWhereNothingIsNear) {
  for (const char* word : {"telepathy", "", "-", "x", "no", "????"}) {
    EXPECT_THAT(nearest_names(word, method_names()), IsEmpty()) << word;
  }
  EXPECT_THAT(nearest_names("x", {"d", "p", "k"}), IsEmpty());
  EXPECT_THAT(nearest_names("power", {}), IsEmpty());
  EXPECT_THAT(nearest_names(std::string(1 << 20, 'r'), method_names()), IsEmpty());
}

TEST(UnknownName, NamesTheNearestFirst) {
  EXPECT_EQ(unknown_name("mapping", "pwoer", {"identity", "power"}),
            "unknown mapping 'pwoer': did you mean power? Known: identity, power");
  EXPECT_EQ(unknown_name("facet", "nose", {"token", "key"}),
            "unknown facet 'nose', known: token, key");
  EXPECT_EQ(unknown_name("size", "vita", {"vits", "vitb", "vitl", "vitg"}, "ria sizes"),
            "unknown size 'vita': did you mean vits, vitb or vitl? 'ria sizes' lists all");
  EXPECT_EQ(unknown_name("size", "vast", {"vits", "vitb"}, "ria sizes"),
            "unknown size 'vast', 'ria sizes' lists all");
  EXPECT_EQ(unknown_name("flag", "--methd", {"--method", "--d"}, "ria x --help"),
            "unknown flag '--methd': did you mean --method? 'ria x --help' lists all");
}

}  // namespace
}  // namespace ria
