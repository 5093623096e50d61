// SPDX-License-Identifier: MIT
#include "ria/optimise.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "index/approximate.h"
#include "index/scan.h"
#include "optimise/assemble.h"
#include "optimise/coder.h"
#include "optimise/graph_builder.h"
#include "optimise/measure.h"
#include "optimise/work_log.h"
#include "ria/recognizer.h"
#include "structure/checksum.h"
#include "util/plugin.h"

namespace ria {

namespace fs = std::filesystem;

namespace {

constexpr int kExactPlaces = 20'000;  // compared in some milliseconds
constexpr int kFewestDims = 8;
constexpr int kHeldOut = 512;
constexpr std::int64_t kLeastMemory = 64'000'000;
constexpr std::int64_t kWorkMemory = 24'000'000;  // for a block, a batch and the map's own

const FaissFunctions& faiss_for(const std::string& search) {
  return plugin<FaissFunctions>({"faiss",
                                 "--search " + search,
                                 "FAISS (package libfaiss-dev)",
                                 "apt-get install libfaiss-dev, then build ria again"});
}

/// Without the library "auto" is exact search, and what was asked for by name is an error.
const FaissFunctions* faiss_if_there(const OptimiseOptions& options, std::string& missing) {
  try {
    return &faiss_for(options.search);
  } catch (const std::runtime_error& error) {
    if (options.search != "auto") throw;
    missing = error.what();
    return nullptr;
  }
}

/// One run over a map.
class Run {
 public:
  Run(const fs::path& map, const OptimiseOptions& options)
      : options_(options),
        kind_(options.search == "hnsw" ? SearchKind::kGraph : SearchKind::kLists),
        store_(map, Access::kRead),
        blocks_(store_, {}) {
    store_.database().reading([&] {
      state_ = store_.state();
      blocks_ = Blocks(store_, store_.blocks());
    });
  }

  bool wants_structure() const {
    if (options_.search == "exact" || blocks_.count() == 0) return false;
    return options_.search != "auto" ||
           (state_.size() > kExactPlaces && store_.form().dim >= kFewestDims);
  }

  SearchInfo make(const FaissFunctions& faiss) {
    if (store_.form().dim < kFewestDims) {
      throw std::runtime_error(fmt::format("{}: --search {} wants descriptors of {} dims or more",
                                           store_.database().file().string(),
                                           kind_name(),
                                           kFewestDims));
    }
    shape_ = choose_shape(kind_, state_.size(), store_.form().dim, options_.max_memory);
    require_memory();
    const fs::path file = search_file_of(store_.database().file());
    AtomicFile target(file);
    WorkLog log(file.string() + ".part", fingerprint());
    const Coder coder = train(log, faiss);
    code(coder, log);
    shape_.removed = state_.removed;
    shape_.places = coded_;
    const std::int64_t body = write(coder, log, target);
    target.sync();
    SearchMeasure measure = measured(target.temporary(), held_out_);
    measure.checksum = footer_checksum(body, measure);
    target.write_values(std::span<const SearchMeasure>(&measure, 1));
    target.commit();
    log.remove();
    return Approximate(SearchFile::open(file)).info();
  }

 private:
  const char* kind_name() const { return kind_ == SearchKind::kGraph ? "hnsw" : "ivfpq"; }

  /// A graph is in memory as a whole; lists come some at a time.
  void require_memory() const {
    if (kind_ != SearchKind::kGraph) return;
    const std::int64_t graph = GraphBuilder::memory(shape_.graph());
    const std::int64_t needed =
        graph + 2 * static_cast<std::int64_t>(model_values(shape_) * sizeof(float)) + kWorkMemory;
    if (needed <= options_.max_memory) return;
    throw std::runtime_error(fmt::format(
        "{}: hnsw of {} places takes {} MB and --max_memory is {} MB: give it as much, or "
        "take --search ivfpq",
        store_.database().file().string(),
        shape_.places,
        (needed + 999'999) / 1'000'000,
        options_.max_memory / 1'000'000));
  }

  /// Every place is coded, and in a graph linked.
  int steps() const { return kind_ == SearchKind::kGraph ? 2 * state_.size() : state_.size(); }
  void show(int done) const {
    if (options_.stop.stop_requested()) throw Interrupted(done, steps(), "steps");
    if (options_.progress) options_.progress(done, steps());
  }

  std::int64_t write(const Coder& coder, WorkLog& log, AtomicFile& to) const {
    const EachBlock each = [&](const std::function<void(const CodedBlock&)>& visit) {
      each_record(log, visit);
    };
    if (kind_ == SearchKind::kLists) {
      return write_lists(shape_, coder.values(), each, options_.max_memory / 2, to);
    }
    std::vector<SearchBlock> blocks;
    GraphBuilder graph(shape_.graph(), options_.seed);
    each([&](const CodedBlock& block) {
      blocks.push_back(block.block);
      graph.add(block);
    });
    graph.link(log, [&](int linked) { show(linked == coded_ ? steps() : state_.size() + linked); });
    return write_graph(shape_, coder.values(), blocks, graph.bytes(), to);
  }

  /// Of everything that decides the structure.
  std::string fingerprint() const {
    Checksum sum;
    for (const SearchBlock& block : blocks_.all()) {
      sum.add_value(block.first).add_value(block.last).add_value(block.checksum);
    }
    return fmt::format(
        "ria search structure 5, {} dims, {} places, {} removed, blocks {:x}, {} of {} bytes, seed "
        "{}",
        store_.form().dim,
        state_.size(),
        state_.removed,
        sum.value(),
        kind_name(),
        options_.max_memory,
        options_.seed);
  }

  /// The first record, or the training that makes it.
  Coder train(WorkLog& log, const FaissFunctions& faiss) {
    held_out_.queries = seen_again(sample(blocks_, kHeldOut, kHeldOut, true), options_.seed);
    std::vector<std::uint8_t> record;
    if (log.next(record) && record.size() == model_values(shape_) * sizeof(float)) {
      std::vector<float> values(model_values(shape_));
      std::memcpy(values.data(), record.data(), record.size());
      return Coder(shape_, std::move(values));
    }
    log.rewind();
    Coder coder(shape_, blocks_, options_.max_memory, options_.seed, faiss);
    log.append({reinterpret_cast<const std::uint8_t*>(coder.values().data()),
                coder.values().size() * sizeof(float)});
    return coder;
  }

  void code(const Coder& coder, WorkLog& log) {
    int done = 0;
    std::vector<Match>& nearest = held_out_.nearest;
    nearest.assign(static_cast<std::size_t>(held_out_.queries.rows()), Match{-1, -2});
    std::vector<std::uint8_t> record;
    const auto count = [&](const CodedBlock& block) {
      for (std::size_t q = 0; q < block.nearest.size() && q < nearest.size(); ++q) {
        if (block.nearest[q].score > nearest[q].score) nearest[q] = block.nearest[q];
      }
      coded_ += static_cast<int>(block.places.size());
      ++done;
    };
    while (done < blocks_.count() && log.next(record)) count(CodedBlock::from(record));
    for (; done < blocks_.count();) {
      const CodedBlock block = coded(coder, blocks_.read(done));
      log.append(block.bytes());
      count(block);
      show(done == blocks_.count() ? state_.size() : coded_);
    }
  }

  CodedBlock coded(const Coder& coder, MapStore::LiveBlock block) const {
    CodedBlock made;
    made.block = block.block;
    made.places.assign(block.places.begin(), block.places.end());
    made.scales = block.rows.scales;
    Coder::Codes codes = coder.code(decode(block.rows, store_.form()));
    made.lists = std::move(codes.lists);
    made.codes = std::move(codes.codes);
    made.errors = std::move(codes.errors);
    made.sizes = std::move(codes.sizes);
    Rows rows(store_.form(), block.block.first - 1);
    rows.add(block.rows, block.places);
    for (const std::vector<Match>& alike : scan_nearest(rows, held_out_.queries, 1, {})) {
      made.nearest.push_back(alike.empty() ? Match{-1, -2} : alike[0]);
    }
    return made;
  }

  void each_record(WorkLog& log, const std::function<void(const CodedBlock&)>& visit) const {
    std::vector<std::uint8_t> record;
    log.rewind();
    log.next(record);  // what was trained
    for (int i = 0; i < blocks_.count() && log.next(record); ++i) visit(CodedBlock::from(record));
  }

  OptimiseOptions options_;
  SearchKind kind_;
  MapStore store_;
  MapState state_;
  Blocks blocks_;
  SearchShape shape_;
  HeldOut held_out_;
  int coded_ = 0;  ///< places
};

}  // namespace

void OptimiseOptions::validate() const {
  if (search != "exact" && search != "ivfpq" && search != "hnsw" && search != "auto") {
    throw std::invalid_argument(
        fmt::format("search is '{}', exact, ivfpq, hnsw or auto was expected", search));
  }
  if (max_memory < kLeastMemory) {
    throw std::invalid_argument(
        fmt::format("max_memory is {} bytes, at least {} was expected", max_memory, kLeastMemory));
  }
}

void check_search(const std::string& search) {
  OptimiseOptions options;
  options.search = search;
  options.validate();
  if (search == "ivfpq" || search == "hnsw") faiss_for(search);
}

SearchInfo optimise_map(const fs::path& map, const OptimiseOptions& options) {
  options.validate();
  check_search(options.search);
  Run run(map, options);
  std::string missing;
  if (run.wants_structure()) {
    const FaissFunctions* faiss = faiss_if_there(options, missing);
    if (faiss != nullptr) return run.make(*faiss);
  }
  fs::remove(search_file_of(map));
  fs::remove(search_file_of(map).string() + ".part");
  SearchInfo info = Map::open(map).search_info();
  info.note = missing;
  return info;
}

}  // namespace ria
