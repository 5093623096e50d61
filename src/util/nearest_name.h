// SPDX-License-Identifier: MIT
// What a mistyped name was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ria {

/// The known names that are nearest to a word, all equally near, in the order of `known`, at most
/// `most`; none where nothing is near. Upper and lower case, - and _ are the same. Near is a name
/// within a few letters changed, added, left out or swapped with the next (one, and one more for
/// each six of the longer name), one that begins with the word or holds it, and one that the word
/// begins with.
std::vector<std::string> nearest_names(std::string_view word,
                                       const std::vector<std::string>& known,
                                       std::size_t most = 3);

/// "did you mean a, b or c? ", or nothing where nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// One line on a name that is not known: the nearest ones first, then all of them, or the command
/// that lists them.
///   unknown mapping 'pwer': did you mean power? Known: newton_schulz, power, ...
///   unknown method 'resnet50-rai': did you mean resnet50-ria? 'ria methods' lists all
///   unknown facet 'nose', known: token, query, key, value
std::string unknown_name(std::string_view what,
                         std::string_view word,
                         const std::vector<std::string>& known,
                         std::string_view listed_by = "");

}  // namespace ria
