// SPDX-License-Identifier: MIT
// Flags, help and names `ria` does not know.
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/fixture.h"

namespace ria::cli_test {
namespace {

using nlohmann::json;

TEST_F(CliTest, WrongUsageExitsWithTwo) {
  pictures();
  refused(2, {}, {"subcommand"});
  refused(2, {"guess"}, {"guess"});
  refused(2, {"index"}, {"subcommand"});
  refused(2, {"index", "burn"}, {"burn"});
  refused(2, {"describe"}, {"paths"});
  refused(2, {"describe", "pictures"}, {"--out"});
  refused(2, {"describe", "pictures", "--out", "x.npy", "--frobnicate"}, {"--frobnicate"});
  refused(2, {"describe", "pictures", "--out", "x.txt"}, {"--out", "x.txt", ".npy", ".h5"});
  refused(2, {"eval"}, {"--dataset"});
  refused(2, {"eval", "--database_folder", "pictures"}, {"--queries_folder"});
  refused(2, {"query", "x.ria", "pictures", "--json", "--csv"}, {"--json", "--csv"});
  refused(2, {"query", "x.ria", "pictures", "-k", "0"}, {"-k", "0", "at least 1"});
  refused(2, {"simulate", "street", "--places", "0"}, {"places", "0"});
  refused(2, {"simulate", "street", "--query_condition", "fog"}, {"fog", "night"});
}

TEST_F(CliTest, UnknownMethodSaysWhereTheKnownAreListed) {
  pictures();
  for (const Args& command : {Args{"describe", "pictures", "--out", "x.npy"},
                              Args{"index", "build", "pictures", "--out", "x.ria"},
                              Args{"eval", "--dataset", "gt.json"}}) {
    refused(2, command + Args{"--method", "telepathy"}, {"telepathy", "'ria methods' lists all"});
  }
}

TEST_F(CliTest, MistypedNameIsAnsweredWithTheNearest) {
  pictures();
  const Args describe = {"describe", "pictures", "--out", "x.npy"};
  const Args street = {"--database_folder", "pictures", "--queries_folder", "pictures"};
  const std::vector<std::pair<Args, std::string>> all = {
      {{"descibe", "pictures"}, "unknown subcommand 'descibe': did you mean describe?"},
      {{"index", "biuld", "pictures"}, "unknown subcommand 'biuld': did you mean build? Known:"},
      {{"datasets", "shwo"}, "unknown subcommand 'shwo': did you mean show?"},
      {describe + Args{"--methd", "salad"},
       "'--methd': did you mean --method? 'ria describe --help'"},
      {{"describe", "pictures", "--output", "x.npy"},
       "unknown flag '--output': did you mean --out or --onnx_output?"},
      {{"index", "build", "pictures", "--out=x.ria", "--wieghts=w"}, "did you mean --weights?"},
      {{"query", "x.ria", "pictures", "--jsno"}, "unknown flag '--jsno': did you mean --json?"},
      {describe + Args{"--method", "resnet50-rai"}, "did you mean resnet50-ria?"},
      {describe + Args{"--method", "Resnet50_RIA"}, "did you mean resnet50-ria?"},
      {describe + Args{"--method", "cosplce"}, "did you mean cosplace?"},
      {describe + Args{"--method", "resnet101-vald"}, "did you mean resnet101-vlad?"},
      {describe + Args{"--method", "dinov2-vitl"}, "did you mean dinov2-vitl14-"},
      {describe + Args{"--method", "resnet50-ria:dd=128"}, "option 'dd': did you mean d?"},
      {describe + Args{"--method", "resnet50-ria:maping=power"}, "did you mean mapping?"},
      {describe + Args{"--method", "resnet50-ria:mapping=pwer"}, "did you mean power?"},
      {describe + Args{"--backbone", "resnet5o", "--aggregator", "ria"}, "did you mean resnet50?"},
      {describe + Args{"--backbone", "resnet50", "--aggregator", "gme"}, "did you mean gem?"},
      {describe + Args{"--estimator", "ledoit-wolf"}, "'ledoit-wolf': did you mean ledoit_wolf?"},
      {describe + Args{"--mapping", "newton"}, "did you mean newton_schulz? Known: newton_schulz,"},
      {describe + Args{"--precision", "in8"}, "did you mean int8? Known: fp32, int8, bf16"},
      {describe + Args{"--facet", "tokn"}, "unknown facet 'tokn': did you mean token?"},
      {describe + Args{"--resize", "bicubic"}, "did you mean pil_bicubic, tensor_bicubic or"},
      {describe + Args{"--gem_sign", "clmap"}, "unknown gem_sign 'clmap': did you mean clamp?"},
      {describe + Args{"--position_rule", "hubb"}, "did you mean hub?"},
      {describe + Args{"--rerank", "patch"}, "unknown rerank 'patch': did you mean patches?"},
      {Args{"study", "tau_esp"} + street, "unknown study 'tau_esp': did you mean tau-eps?"},
      {{"study", "tau-eps", "--dataset", "piits30k"}, "did you mean pitts30k?"},
      {{"datasets", "show", "tokyo"}, "did you mean tokyo247? 'ria datasets' lists all"},
      {{"datasets", "check", "nordlnd", "."}, "did you mean nordland?"},
      {{"weights", "get", "dinov2-vits"}, "did you mean dinov2-vits14"},
      {{"simulate", "street", "--query_condition", "nihgt"}, "did you mean night?"},
      {{"demo", "--backbone", "rootsfit"}, "unknown backbone 'rootsfit': did you mean rootsift?"},
      {{"methods", "--check", "sald"}, "unknown method 'sald': did you mean salad?"}};
  for (const auto& [args, part] : all) refused(2, args, {part});
}

TEST_F(CliTest, BadOptionValueNamesFlagAndValue) {
  pictures();
  const std::vector<std::array<std::string, 3>> bad = {{"--d", "0", "at least 1"},
                                                       {"--d", "129", "128"},
                                                       {"--d", "many", "d"},
                                                       {"--alpha", "2", "(0, 1]"},
                                                       {"--alpha", "0", "(0, 1]"},
                                                       {"--tau", "-1", "from 0 up"},
                                                       {"--eps", "nan", "from 0 up"},
                                                       {"--iterations", "0", "at least 1"},
                                                       {"--estimator", "nonsense", "ledoit_wolf"},
                                                       {"--mapping", "nonsense", "newton_schulz"},
                                                       {"--gem_sign", "nonsense", "clamp"},
                                                       {"--p", "0", "above 0"},
                                                       {"--normalize_patches", "maybe", "true"},
                                                       {"--image_size", "0", "at least 1"},
                                                       {"--longest_side", "-5", "longest_side"},
                                                       {"--resize", "nonsense", "pil_bilinear"},
                                                       {"--precision", "fp4", "int8"},
                                                       {"--num_threads", "-1", "0 (all)"}};
  for (const auto& [flag, value, expected] : bad) {
    refused(2,
            {"describe", "pictures", "--out", "x.npy", "--method", "rootsift-ria", flag, value},
            {flag.substr(2), value, expected});
  }
}

// --image_size takes one number or two, so what follows it may be taken for the second.
TEST_F(CliTest, PathAfterImageSizeIsDescribedOrTheFlagIsNamed) {
  const Args gem = {"--method", "rootsift-gem"};
  works(Args{"describe", pictures(), "--out", "x.npy", "--image_size", "48", "64"} + gem);
  EXPECT_EQ(read_rows(folder_ / "x.npy").rows(), 4);
  works(Args{"describe"} + gem + Args{"--out", "x.npy", "--image_size", "64", "pictures"});
  EXPECT_EQ(read_rows(folder_ / "x.npy").rows(), 4);
  refused(2,
          {"describe", "--image_size", "64", "pictures", "--out", "y.npy"},
          {"--image_size", "pictures"});
}

/// Whether the word stands in the text, not only the beginning of a longer one.
bool mentions(const std::string& text, const std::string& word) {
  for (auto at = text.find(" " + word); at != text.npos; at = text.find(" " + word, at + 1)) {
    const char next = text[at + 1 + word.size()];
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_') return true;
  }
  return false;
}

// Every subcommand's flags; a new flag belongs here and in --help.
TEST_F(CliTest, HelpMentionsEveryFlag) {
  const Args runtime = {"--weights", "--num_threads"};
  const Args method = Args{"--method",
                           "--d",
                           "--projection",
                           "--seed",
                           "--normalize_patches",
                           "--estimator",
                           "--tau",
                           "--eps",
                           "--mapping",
                           "--iterations",
                           "--alpha",
                           "--p",
                           "--gem_sign",
                           "--gem_eps",
                           "--image_size",
                           "--longest_side",
                           "--native_size",
                           "--resize",
                           "--cut",
                           "--precision",
                           "--backbone",
                           "--aggregator",
                           "--clusters",
                           "--center",
                           "--descriptors_dimension",
                           "--vocabulary",
                           "--vlad_soft",
                           "--pca",
                           "--whiten",
                           "--soft_temperature",
                           "--fit_folder",
                           "--rerank",
                           "--rerank_depth",
                           "--rerank_d",
                           "--rerank_seed",
                           "--rerank_tolerance",
                           "--rerank_cosine_weight",
                           "--intra_normalize"} +
                      runtime;
  const Args street = {"--places",
                       "--spacing",
                       "--lateral_offset",
                       "--heading_offset",
                       "--database_condition",
                       "--query_condition",
                       "--height",
                       "--width",
                       "--seed",
                       "--num_threads"};
  const std::vector<std::pair<Args, Args>> all = {
      {{},
       {"describe",
        "index",
        "query",
        "eval",
        "datasets",
        "methods",
        "weights",
        "simulate",
        "demo"}},
      {{"describe"}, method + Args{"paths", "--out"}},
      {{"index"}, {"build", "add", "remove", "merge", "info", "check", "export"}},
      {{"index", "build"}, method + Args{"folder", "--out", "--storage"}},
      {{"index", "add"}, runtime + Args{"map", "folder"}},
      {{"index", "remove"}, {"map", "names"}},
      {{"index", "merge"}, {"maps", "--out"}},
      {{"index", "info"}, {"map"}},
      {{"index", "check"}, {"map"}},
      {{"index", "export"}, {"map", "--out"}},
      {{"query"}, runtime + Args{"map", "path", "-k", "--json", "--csv", "--pairs", "--method"}},
      {{"eval"},
       method + Args{"--dataset",
                     "--data_folder",
                     "--split",
                     "--query_set",
                     "--frame_tolerance",
                     "--max_angle",
                     "--images_folder",
                     "--database_folder",
                     "--queries_folder",
                     "--positive_dist_threshold",
                     "--recall_values",
                     "--json",
                     "--report",
                     "--feature_cache"}},
      {{"datasets"}, {"show", "check", "--json"}},
      {{"datasets", "show"}, {"name", "--json"}},
      {{"datasets", "check"},
       {"name",
        "folder",
        "--no_pictures",
        "--num_threads",
        "--split",
        "--query_set",
        "--frame_tolerance",
        "--max_angle",
        "--images_folder",
        "--positive_dist_threshold",
        "--json"}},
      {{"methods"}, {"--json", "--check"}},
      {{"weights"}, {"list", "get", "info", "add", "verify"}},
      {{"weights", "list"}, {"--json"}},
      {{"weights", "get"}, {"name", "--url", "--sha256", "--keep", "--stall_seconds", "--retries"}},
      {{"weights", "info"}, {"file", "--json"}},
      {{"weights", "verify"},
       {"file",
        "--name",
        "--precision",
        "--pictures",
        "--method",
        "--backbone",
        "--num_threads",
        "--json"}},
      {{"weights", "add"}, {"file", "--name"}},
      {{"simulate"}, street + Args{"folder"}},
      {{"demo"}, street + Args{"--out", "--backbone"}}};
  for (const auto& [command, flags] : all) {
    SCOPED_TRACE(fmt::format("ria {} --help", fmt::join(command, " ")));
    const std::string help = works(command + Args{"--help"});
    for (const std::string& flag : flags) {
      EXPECT_TRUE(mentions(help, flag)) << flag << " is not in\n" << help;
    }
  }
}

TEST_F(CliTest, VersionAndMethodsArePrinted) {
  EXPECT_EQ(works({"--version"}), fmt::format("ria {}\n", RIA_VERSION));
  const std::string text = works({"methods"});
  const json list = json::parse(works({"methods", "--json"}));
  ASSERT_EQ(list.size(), methods().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["name"], methods()[i].name);
    EXPECT_NE(text.find(methods()[i].name), text.npos);
  }
}

}  // namespace
}  // namespace ria::cli_test
