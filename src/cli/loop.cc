// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "ria/drive.h"
#include "ria/loop_run.h"
#include "ria/report.h"
#include "util/files.h"
#include "util/parallel.h"
#include "util/stopwatch.h"

namespace ria::cli {

namespace {

namespace fs = std::filesystem;

std::size_t read_input(std::span<std::uint8_t> bytes) {
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR || stop_on_interrupt().stop_requested()) {
      throw std::runtime_error(
          fmt::format("standard input cannot be read: {}", std::strerror(errno)));
    }
  }
}

struct Loop {
  std::string sequence, map_file, method, odometry, json, g2o, truth, report, feature_cache;
  bool csv = false, pairs = false;
  LoopOptions options;
  LoopRun result;
  std::vector<Failure> failures;

  void check() {
    options.validate();
    LoopMeasureOptions{result.truth_tolerance, options.recent, options.decision}.validate();
    for (const std::string& file : {json, g2o}) {
      if (!file.empty() && file != "-") check_writable(file);
    }
    if (!report.empty()) check_report(report);
    if (!truth.empty()) result.truth = load_loop_truth(truth);
  }

  /// Whether standard output is for another program.
  bool quiet() const { return json == "-" || g2o == "-" || csv || pairs; }

  void say(const LoopRunFrame& frame) const {
    const LoopResult& r = frame.result;
    if (json == "-") {
      fmt::print("{}\n", LoopRun::frame_json(frame));
    } else if (pairs && r.loop) {
      fmt::print("{} {}\n", frame.name, r.place_name);
    } else if (!quiet() && r.loop) {
      fmt::print("{}{} shows {}, p = {:.3f}, moved by {:.1f} down, {:.1f} right\n",
                 progress_line_end(),
                 frame.name,
                 r.place_name,
                 r.probability,
                 r.down,
                 r.right);
    }
    if (r.loop || json == "-") std::fflush(stdout);
  }

  void take(LoopCloser& closer,
            const DriveFrame& frame,
            const DescribedPicture& picture,
            double ms) {
    LoopFrame known{frame.name, frame.stamp.value_or(Place::kUnknown), frame.pose};
    LoopResult said = closer.add(picture, known);
    said.ms.describe = ms;
    result.frames.push_back({frame.name, frame.picture, frame.pose, std::move(said)});
    say(result.frames.back());
  }

  /// Behind the last picture that the map has of these.
  static std::size_t first_new(const Map& map, const std::vector<DriveFrame>& frames) {
    for (std::size_t i = frames.size(); i-- > 0;) {
      if (!map.find(frames[i].name).empty()) return i + 1;
    }
    return 0;
  }

  void run_files(LoopCloser& closer) {
    const Drive drive = load_drive(sequence, odometry);
    result.name = drive.name;
    for (const std::string& remark : drive.remarks) fmt::print(stderr, "ria: {}\n", remark);
    const std::size_t first = first_new(closer.map(), drive.frames);
    if (first > 0) {
      fmt::print(stderr,
                 "ria: {} goes on behind {}\n",
                 closer.map().file().string(),
                 drive.frames[first - 1].name);
    }
    RunOptions run = run_options("closing loops", options.num_threads);
    const auto show = run.progress;
    run.progress = nullptr;
    run.resume = false;
    run.feature_cache = feature_cache;
    const auto together = static_cast<std::size_t>(resolve_threads(options.num_threads)) * 4;
    for (std::size_t at = first; at < drive.frames.size(); at += together) {
      describe_some(closer, drive, at, std::min(at + together, drive.frames.size()), run);
      if (show)
        show(static_cast<int>(std::min(at + together, drive.frames.size())),
             static_cast<int>(drive.frames.size()));
    }
    report_failures(failures, drive.frames.size());
  }

  void describe_some(LoopCloser& closer,
                     const Drive& drive,
                     std::size_t first,
                     std::size_t end,
                     const RunOptions& run) {
    std::vector<fs::path> pictures;
    for (std::size_t i = first; i < end; ++i) pictures.push_back(drive.frames[i].picture);
    Descriptions some = closer.recognizer().describe(pictures, run);
    const double ms = 1000 * some.seconds.wall / static_cast<double>(pictures.size());
    std::vector<char> bad(pictures.size(), 0);
    for (Failure failure : some.failures) {
      bad[failure.picture] = 1;
      failure.picture += static_cast<int>(first);
      failures.push_back(std::move(failure));
    }
    for (std::size_t i = first; i < end; ++i) {
      const auto at = static_cast<int>(i - first);
      if (bad[at]) continue;
      const auto row = some.descriptors.row(at);
      take(closer, drive.frames[i], {{row.begin(), row.end()}, std::move(some.locals[at])}, ms);
    }
  }

  void run_stream(LoopCloser& closer) {
    result.name = "standard input";
    JpegStream stream(read_input);
    int count = 0;
    const Recognizer& recognizer = closer.recognizer();
    while (const auto bytes = stream.next()) {
      if (stop_on_interrupt().stop_requested()) throw Interrupted(count, count);
      DriveFrame frame;
      frame.name = fmt::format("frame_{:06}", count++);
      if (!closer.map().find(frame.name).empty()) continue;
      Stopwatch watch;
      try {
        const DescribedPicture picture = recognizer.describe_whole(
            decode_image(*bytes, frame.name, recognizer.preprocessing().load));
        take(closer, frame, picture, watch.milliseconds());
      } catch (const std::runtime_error& error) {
        failures.push_back({count - 1, frame.name, error.what()});
      }
    }
    if (stream.damaged() > 0) {
      fmt::print(stderr, "ria: {} pieces of the stream were no whole JPEG\n", stream.damaged());
    }
    if (count == 0) throw std::runtime_error("standard input: no JPEG was found");
    report_failures(failures, static_cast<std::size_t>(count));
  }

  void finish(const LoopCloser& closer) {
    result.measure();
    if (json == "-" && result.measures) fmt::print("{}\n", result.summary_json());
    if (!json.empty() && json != "-") write_text(json, result.to_json());
    if (csv) fmt::print("{}", result.to_csv());
    if (!g2o.empty()) write_output(g2o, result.to_g2o());
    if (!report.empty()) {
      ReportOptions page;
      page.title = fmt::format("Loops of {}", result.name);
      page.command = command_line();
      write_loop_report(report, result, closer.map(), page);
    }
    if (quiet()) return;
    const auto loops = std::count_if(result.frames.begin(),
                                     result.frames.end(),
                                     [](const LoopRunFrame& frame) { return frame.result.loop; });
    const LoopTime ms = result.ms_per_frame();
    fmt::print(
        "{}: {} pictures, {} loops, {} places in the map; {:.1f} ms a picture and {:.1f} behind "
        "the "
        "network\n",
        result.name,
        result.frames.size(),
        loops,
        closer.map().size(),
        ms.describe + ms.search + ms.verify + ms.keep,
        ms.search + ms.verify + ms.keep);
    if (result.measures) {
      const LoopMeasures& m = *result.measures;
      fmt::print(
          "precision {:.3f}, recall {:.3f} at p >= {}; recall {:.3f} at full precision, {:.3f} at "
          "0.99; average precision {:.3f}\n",
          m.precision,
          m.recall,
          options.decision,
          m.max_recall_at_full_precision,
          m.recall_at_99_precision,
          m.average_precision);
    }
    if (!report.empty()) fmt::print("report: {}\n", report);
  }

  void run() {
    check();
    LoopCloser closer = LoopCloser::open(map_file, method, options);
    result.method = closer.map().header().method;
    result.options = options;
    if (sequence == "-") {
      run_stream(closer);
    } else {
      run_files(closer);
    }
    finish(closer);
  }
};

void add_outputs(CLI::App& command, Loop& state) {
  const std::string group = "Outputs";
  command
      .add_option("--json", state.json, "results as JSON; -: one object a picture, as they come")
      ->type_name("FILE")
      ->group(group);
  CLI::Option* csv = command.add_flag("--csv", state.csv, "results as CSV")->group(group);
  command.add_flag("--pairs", state.pairs, "'picture place' lines, as hloc and COLMAP read them")
      ->excludes(csv)
      ->group(group);
  command.add_option("--g2o", state.g2o, "a pose graph for optimisers; -: print it")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--report", state.report, "a page of curves and pictures in this folder")
      ->type_name("FOLDER|FILE.html")
      ->group(group);
  command.add_option("--truth", state.truth, "loops.json to measure with: images, loops")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--truth_tolerance",
                  state.result.truth_tolerance,
                  "frames an earlier picture may be beside a true one")
      ->capture_default_str()
      ->group(group);
}

void add_choices(CLI::App& command, LoopOptions& options) {
  const std::string group = "What is a loop";
  const auto add = [&](const char* name, auto& field, const char* help) {
    command.add_option(name, field, help)->capture_default_str()->group(group);
  };
  add("--recent", options.recent, "so many last pictures are no candidates");
  add("--recent_seconds", options.recent_seconds, "nor those younger than this");
  add("--decision", options.decision, "probability from which on it is a loop");
  add("--candidates",
      options.candidates,
      "most alike places whose patches are compared, and so many elsewhere");
  add("--same_view", options.same_view, "share of patches from which on nothing is new; 1: never");
  add("--max_places", options.max_places, "places kept; 0: all");
  add("--odometry_reach", options.odometry_reach, "metres between pictures of one place, at most");
  add("--odometry_drift", options.odometry_drift, "error of odometry as a share of the way");
}

}  // namespace

void add_loop(CLI::App& program) {
  auto state = std::make_shared<Loop>();
  CLI::App* command =
      program.add_subcommand("loop", "Say which pictures of a drive show a place again");
  command
      ->add_option("sequence",
                   state->sequence,
                   "folder, list of 'stamp name' lines (TUM, EuRoC), KITTI sequence; -: JPEGs one "
                   "after the other on standard input")
      ->required()
      ->type_name("SEQUENCE");
  command->add_option("--map", state->map_file, "map to go on with, made if it is missing")
      ->type_name("FILE");
  command->add_option("--method", state->method, "method of a new map; must be that of an old one")
      ->type_name("NAME");
  command->add_option("--odometry", state->odometry, "poses: TUM (stamp x y z q) or KITTI (3x4)")
      ->type_name("FILE");
  command->add_option("--feature_cache", state->feature_cache, "folder that keeps patch features")
      ->type_name("FOLDER");
  command->add_option("--num_threads", state->options.num_threads, "0: all cores")
      ->capture_default_str();
  add_choices(*command, state->options);
  add_outputs(*command, *state);
  command->callback([state] { state->run(); });
}

}  // namespace ria::cli
