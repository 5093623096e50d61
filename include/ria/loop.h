// SPDX-License-Identifier: MIT
// Pictures of a drive as they come: was this place seen before, and how sure is that?
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "ria/api.h"
#include "ria/drive.h"
#include "ria/image.h"
#include "ria/map.h"
#include "ria/recognizer.h"

namespace ria {

/// The method of `ria loop` and LoopCloser::open() for a new map. Patches are kept with any method:
/// loops are verified by them.
RIA_API const std::string& default_loop_method();

/// When a picture counts as a loop, and what is kept.
struct RIA_API LoopOptions {
  int recent = 50;            ///< so many last pictures are no candidates
  double recent_seconds = 0;  ///< nor those younger than this, where pictures have stamps
  /// Probability from which on a result says `loop`: a wrong one harms a map as much as three that
  /// are missed.
  double decision = 0.75;
  /// Most alike places whose patches are compared, and so many of the most alike ones elsewhere.
  int candidates = 20;
  /// Patches two pictures share, from which on the later shows nothing new and is not kept, in
  /// (0, 1]; 1: every picture is kept.
  double same_view = 0.8;
  /// Places kept; 0: all. What is forgotten is what the map shows best elsewhere.
  int max_places = 0;
  /// Odometry: how far two pictures of one place may be apart, metres, and by how much of the way
  /// driven between them the odometry may be wrong. A place beyond both together is impossible.
  double odometry_reach = 30;
  double odometry_drift = 0.05;
  bool keep = true;     ///< false: pictures are only looked up and the map stays as it is
  int num_threads = 0;  ///< 0: all cores

  void validate() const;  ///< throws std::invalid_argument naming the field
};

/// Why a picture is no loop.
enum class LoopReason {
  kLoop,               ///< it is one
  kTooRecent,          ///< the map holds nothing older than `recent`
  kUnlike,             ///< no place looks like it
  kAmbiguous,          ///< places apart from each other look like it equally well
  kSequenceDisagrees,  ///< the pictures before it were elsewhere
  kPatchesDisagree,    ///< as a whole alike, but not patch by patch
  kOdometryForbids,    ///< the place that looks like it cannot have been reached
  kStandingStill,      ///< the camera has not moved since the last picture that was kept
};
/// "loop", "too_recent", "unlike", ...
RIA_API std::string to_string(LoopReason reason);

/// What speaks for a loop, as the probability sees it.
struct LoopEvidence {
  double cosine = 0;     ///< of the two descriptors
  double agreement = 0;  ///< share of patches that agree, 0..1
  double rival = 0;      ///< the largest agreement with a place elsewhere, less what all show
  double expected = 0;   ///< probability before the picture was seen: what the sequence says
};

/// Milliseconds of one picture.
struct LoopTime {
  double describe = 0;  ///< reading, network and descriptor
  double search = 0;    ///< cosines with all places
  double verify = 0;    ///< patches of the candidates
  double keep = 0;      ///< adding to the map, forgetting
};

/// What is said of one picture.
struct RIA_API LoopResult {
  bool loop = false;  ///< probability >= LoopOptions::decision
  LoopReason reason = LoopReason::kTooRecent;
  int place = -1;          ///< the place that fits best, a number of the map; -1: none was compared
  std::string place_name;  ///< its name
  double probability = 0;  ///< that this is the same place
  double down = 0;         ///< patch cells by which the view moved from here to the place
  double right = 0;
  double scale = 1;  ///< how much larger things are in the place's picture
  int kept_as = -1;  ///< number this picture has in the map; -1: it shows nothing new
  LoopEvidence evidence;
  LoopTime ms;
};

/// What is known of a picture beside its pixels.
struct LoopFrame {
  std::string name;
  double stamp = Place::kUnknown;  ///< seconds
  std::optional<Pose> odometry;    ///< of one frame through the whole drive; it may drift
};

/// Which place a picture shows, if nothing is known but the picture, and the probability of that in
/// place of a score: what LoopCloser says of the first picture of all. `cosines` are with all
/// places of a map, `agreements` by place for at least those of them that are candidates.
RIA_API Match guess_place(std::vector<Match> cosines,
                          const std::unordered_map<int, double>& agreements,
                          const LoopOptions& options = {});

/// Closes loops as pictures come. A map that was left off goes on: what decides is in the map. For
/// one thread at a time.
class RIA_API LoopCloser {
 public:
  /// Throws std::invalid_argument unless the recogniser keeps patches and the map is of its method,
  /// options and weights and, where options.keep, may be written.
  LoopCloser(Recognizer recognizer, Map map, const LoopOptions& options = {});
  /// The map in a file, made if it is missing; no name: in memory. Without a method it is the
  /// map's, or default_loop_method() for a new one.
  static LoopCloser open(const std::filesystem::path& map_file,
                         const std::string& method = "",
                         const LoopOptions& options = {});
  ~LoopCloser();
  LoopCloser(LoopCloser&&) noexcept;
  LoopCloser& operator=(LoopCloser&&) noexcept;

  /// Throws std::runtime_error for a file that is no picture; nothing has changed then.
  LoopResult add(const std::filesystem::path& picture, const LoopFrame& frame = {});
  LoopResult add(const ImageView& picture, const LoopFrame& frame = {});
  /// The same for a picture that the recogniser has described already.
  LoopResult add(const DescribedPicture& picture, const LoopFrame& frame = {});

  /// What the loops stand on.
  const Map& map() const;
  const Recognizer& recognizer() const;
  const LoopOptions& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ria
