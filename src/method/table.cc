// SPDX-License-Identifier: MIT
// The rows. Sizes and resampling are those of each project's own evaluation.
#include "method/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace ria {

namespace {

constexpr char kRia[] = "Riemannian Invariant Aggregation for visual place recognition";
constexpr char kGem[] = "Radenovic et al., Fine-tuning CNN image retrieval, TPAMI 2019";
constexpr char kMean[] =
    "Babenko and Lempitsky, Aggregating deep convolutional features, ICCV 2015";
constexpr char kVlad[] = "Jegou et al., Aggregating local descriptors, CVPR 2010";
constexpr char kNetVlad[] = "Arandjelovic et al., NetVLAD, CVPR 2016";
constexpr char kPatchNetVlad[] = "Hausler et al., Patch-NetVLAD, CVPR 2021";
constexpr char kAnyLoc[] = "Keetha et al., AnyLoc, RA-L 2023";
constexpr char kCosPlace[] = "Berton et al., Rethinking visual geo-localization, CVPR 2022";
constexpr char kEigenPlaces[] = "Berton et al., EigenPlaces, ICCV 2023";
constexpr char kMixVpr[] = "Ali-bey et al., MixVPR, WACV 2023";
constexpr char kSalad[] = "Izquierdo and Civera, Optimal transport aggregation, CVPR 2024";
constexpr char kSelaVpr[] = "Lu et al., Towards seamless adaptation, ICLR 2024";

struct NamedBackbone {
  const char* name;
  const char* summary;
  const char* weights;  // name in weight_sources(); empty: needs none, or a given file
  int dim;              // of its features; 0: as the file says
};

// clang-format off
constexpr NamedBackbone kBackbones[] = {
    {"resnet50",          "ImageNet ResNet50",            "resnet50",             1024},
    {"resnet18",          "ImageNet ResNet18",            "resnet18-torchvision", 256},
    {"resnet101",         "ImageNet ResNet101",           "resnet101-torchvision",1024},
    {"resnet152",         "ImageNet ResNet152",           "resnet152-torchvision",1024},
    {"vgg16",             "ImageNet VGG16",               "vgg16-torchvision",    512},
    {"dinov2-vits14",     "DINOv2 ViT-S/14",              "dinov2-vits14",        384},
    {"dinov2-vitb14",     "DINOv2 ViT-B/14",              "dinov2-vitb14",        768},
    {"dinov2-vitl14",     "DINOv2 ViT-L/14",              "dinov2-vitl14",        1024},
    {"dinov2-vitg14",     "DINOv2 ViT-g/14",              "dinov2-vitg14",        1536},
    {"dinov2-vits14-reg", "DINOv2 ViT-S/14, registers",   "dinov2-vits14-reg",    384},
    {"dinov2-vitb14-reg", "DINOv2 ViT-B/14, registers",   "dinov2-vitb14-reg",    768},
    {"dinov2-vitl14-reg", "DINOv2 ViT-L/14, registers",   "dinov2-vitl14-reg",    1024},
    {"dinov2-vitg14-reg", "DINOv2 ViT-g/14, registers",   "dinov2-vitg14-reg",    1536},
    {"dino-vits8",        "DINO ViT-S/8",                 "dino-vits8",           384},
    {"dino-vits16",       "DINO ViT-S/16",                "dino-vits16",          384},
    {"dino-vitb8",        "DINO ViT-B/8",                 "dino-vitb8",           768},
    {"dino-vitb16",       "DINO ViT-B/16",                "dino-vitb16",          768},
    {"rootsift",          "dense RootSIFT",               "",                     128},
    {"resnet",            "a ResNet from a file",         "",                     0},
    {"vgg",               "a VGG from a file",            "",                     0},
    {"dinov2",            "a DINOv2 from a file",         "",                     0},
    {"dino",              "a DINO from a file",           "",                     0},
};

struct NamedAggregator {
  const char* name;
  const char* summary;
  const char* paper;
  int (*dim)(int features);
};

int same(int features) { return features; }
int half_of_square(int) { return 64 * 65 / 2; }
int half_of_square_beyond(int) { return 128 * 129 / 2; }
int residuals(int features) { return 32 * features; }

constexpr NamedAggregator kAggregators[] = {
    {"ria",     "covariance on the SPD manifold",                        kRia,     half_of_square},
    {"riax",    "RIA beyond the paper: logarithms of four windows",  kRia,     half_of_square_beyond},
    {"gem",     "generalised mean",                                      kGem,     same},
    {"mean",    "mean",                                                  kMean,    same},
    {"vlad",    "residuals to a vocabulary fitted on the database",      kVlad,    residuals},
    {"netvlad", "soft residuals to a vocabulary fitted on the database", kNetVlad, residuals},
};
// clang-format on

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// CosPlace and EigenPlaces: the same networks and heads, ResNets cut after layer4.
struct Places {
  const char* name;
  const char* paper;
  const char* backbone;
  std::vector<int> listed, further;
};

std::vector<Places> places() {
  const std::vector<int> below_512{32, 64, 128, 256}, rest{32, 64, 128, 256, 1024};
  return {{"CosPlace", kCosPlace, "resnet18", {512}, below_512},
          {"CosPlace", kCosPlace, "resnet50", {512, 2048}, rest},
          {"CosPlace", kCosPlace, "resnet101", {512, 2048}, rest},
          {"CosPlace", kCosPlace, "resnet152", {512, 2048}, rest},
          {"CosPlace", kCosPlace, "vgg16", {512}, {64, 128, 256}},
          {"EigenPlaces", kEigenPlaces, "resnet18", {512}, {256}},
          {"EigenPlaces", kEigenPlaces, "resnet50", {512, 2048}, {128, 256}},
          {"EigenPlaces", kEigenPlaces, "resnet101", {2048}, {128, 256, 512}},
          {"EigenPlaces", kEigenPlaces, "vgg16", {512}, {}}};
}

void add_places(std::vector<Method>& rows, const Places& row, const std::vector<int>& dims) {
  for (const int dim : dims) {
    const std::string name = fmt::format("{}-{}-{}", lower(row.name), row.backbone, dim);
    rows.push_back({name,
                    row.backbone,
                    "cosplace",
                    fmt::format("{}, {} dims", row.name, dim),
                    row.paper,
                    name,
                    dim,
                    native(std::string(row.backbone) == "vgg16" ? "" : "layer4")});
  }
}

void add_netvlad(std::vector<Method>& rows) {
  rows.push_back({"netvlad",
                  "vgg16",
                  "netvlad_head",
                  "NetVLAD of Pitts30k, whitened",
                  kNetVlad,
                  "netvlad-pitts30k",
                  4096,
                  native()});
  rows.push_back({"netvlad-32768",
                  "vgg16",
                  "netvlad_raw",
                  "NetVLAD of Pitts30k, not whitened",
                  kNetVlad,
                  "netvlad-pitts30k",
                  32768,
                  native()});
  rows.push_back({"netvlad-tokyotm",
                  "vgg16",
                  "netvlad_head",
                  "NetVLAD of Tokyo Time Machine, whitened",
                  kNetVlad,
                  "netvlad-tokyotm",
                  4096,
                  native()});
  const MethodOptions resized = exact_size(480, 640, "pil_bilinear");
  rows.push_back({"netvlad-vgg16",
                  "vgg16",
                  "netvlad_head",
                  "NetVLAD trained with PyTorch, VGG16",
                  kNetVlad,
                  "netvlad-vgg16",
                  32768,
                  resized});
  rows.push_back({"netvlad-resnet18",
                  "resnet18",
                  "netvlad_head",
                  "NetVLAD trained with PyTorch, ResNet18",
                  kNetVlad,
                  "netvlad-resnet18",
                  16384,
                  resized});
  for (const std::string set : {"mapillary", "pitts"}) {
    const std::string name = "patch-netvlad-" + set + "-4096";
    rows.push_back({name,
                    "vgg16",
                    "netvlad_head",
                    fmt::format("the global descriptor of Patch-NetVLAD, {}", set),
                    kPatchNetVlad,
                    name,
                    4096,
                    resized});
  }
}

/// Systems whose backbone also goes with RIA, as in the paper's table 3.
void add_with_swap(std::vector<Method>& rows, const Method& row, const char* swap) {
  rows.push_back(row);
  if (*swap == '\0') return;
  Method swapped = row;
  swapped.name = swap;
  swapped.aggregator = "ria";
  swapped.dim = half_of_square(0);
  swapped.summary = fmt::format("the backbone of {} with RIA", row.name);
  swapped.paper = kRia;
  swapped.own.rerank.clear();
  rows.push_back(swapped);
}

void add_trained_together(std::vector<Method>& rows) {
  for (const int dim : {4096, 512, 128}) {
    const std::string name = fmt::format("mixvpr-{}", dim);
    add_with_swap(rows,
                  {name,
                   "resnet50",
                   "mixvpr",
                   fmt::format("MixVPR, {} dims", dim),
                   kMixVpr,
                   name,
                   dim,
                   exact_size(320, 320, "pil_bilinear")},
                  dim == 4096 ? "mixvpr-ria" : "");
  }
  MethodOptions salad = exact_size(322, 322, "pil_bilinear");
  salad.backbone.final_norm = true;
  add_with_swap(
      rows,
      {"salad", "dinov2-vitb14", "salad", "SALAD, 8448 dims", kSalad, "salad", 8448, salad},
      "salad-ria");
  MethodOptions selavpr = exact_size(224, 224, "tensor_bilinear");
  selavpr.backbone.final_norm = true;
  selavpr.rerank = "local";
  const auto sela = [&](const char* name, const char* backbone, const char* weights) -> Method {
    return {name,
            backbone,
            "selavpr",
            "SelaVPR, 1024 dims, re-ranked by its local features",
            kSelaVpr,
            weights,
            1024,
            selavpr};
  };
  add_with_swap(rows, sela("selavpr", "dinov2-vitl14", "selavpr-msls"), "selavpr-ria");
  add_with_swap(rows, sela("selavpr-pitts30k", "dinov2-vitl14", "selavpr-pitts30k"), "");
  add_with_swap(rows, sela("selavpr-reg4", "dinov2-vitl14-reg", "selavpr-reg4-msls"), "");
  rows.push_back({"ria-ft",
                  "dinov2-vitl14",
                  "ria_ft",
                  "RIA fine-tuned: DINOv2 ViT-L/14, learnt projections, 4 heads, 2080 dims",
                  kRia,
                  "ria-ft",
                  2080,
                  {}});  // its file says what it reads
}

void add_anyloc(std::vector<Method>& rows) {
  MethodOptions anyloc;
  anyloc.backbone.layer = 31;
  anyloc.backbone.facet = Facet::kValue;
  anyloc.vlad.vocabulary = "anyloc-global";
  rows.push_back({"anyloc-vlad-dinov2",
                  "dinov2-vitg14",
                  "vlad",
                  "AnyLoc: VLAD of 32 published centres (--vocabulary anyloc-indoor, urban, ...)",
                  kAnyLoc,
                  "dinov2-vitg14",
                  32 * 1536,
                  anyloc});
  MethodOptions dino = exact_size(224, 298, "tensor_nearest");
  dino.backbone.layer = 9;
  dino.backbone.facet = Facet::kKey;
  dino.backbone.stride = 4;
  dino.vlad.clusters = 128;
  rows.push_back({"anyloc-vlad-dino",
                  "dino-vits8",
                  "vlad",
                  "AnyLoc on DINO: VLAD of 128 centres fitted on the database",
                  kAnyLoc,
                  "dino-vits8",
                  128 * 384,
                  dino});
  MethodOptions own = anyloc;
  own.vlad = {};
  own.vlad.clusters = 8;
  rows.push_back({"dinov2-vlad",
                  "dinov2-vitg14",
                  "vlad",
                  "VLAD of 8 centres fitted on the database",
                  kAnyLoc,
                  "dinov2-vitg14",
                  8 * 1536,
                  own});
  MethodOptions gem;
  gem.backbone.layer = 31;
  gem.backbone.facet = Facet::kToken;
  gem.gem.sign = GemSign::kPreserve;
  rows.push_back({"dinov2-gem",
                  "dinov2-vitg14",
                  "gem",
                  "generalised mean of tokens, as AnyLoc's baseline",
                  kAnyLoc,
                  "dinov2-vitg14",
                  1536,
                  gem});
}

/// Backbones that stand for any network of their kind.
bool is_generic(const std::string& backbone) {
  return backbone == "resnet" || backbone == "vgg" || backbone == "dinov2" || backbone == "dino";
}

bool usual(const Method& row) {
  return row.backbone == "resnet50" || row.backbone == "rootsift" ||
         (row.aggregator == "ria" && !is_generic(row.backbone));
}

}  // namespace

MethodOptions exact_size(int height, int width, const char* resize) {
  MethodOptions own;
  own.image_height = height;
  own.image_width = width;
  own.resize = resize;
  return own;
}

MethodOptions native(const char* cut) {
  MethodOptions own;
  own.native_size = true;
  own.backbone.cut = cut;
  return own;
}

std::vector<Method> pairing_rows() {
  std::vector<Method> rows;
  for (const NamedBackbone& backbone : kBackbones) {
    for (const NamedAggregator& aggregator : kAggregators) {
      const char* any = is_generic(backbone.name) ? "-any" : "";
      Method row{fmt::format("{}{}-{}", backbone.name, any, aggregator.name),
                 backbone.name,
                 aggregator.name,
                 fmt::format("{}, {}", backbone.summary, aggregator.summary),
                 aggregator.paper,
                 backbone.weights,
                 aggregator.dim(backbone.dim),
                 {}};
      if (row.backbone.starts_with("dino")) row.own.gem.sign = GemSign::kPreserve;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<Method> listed_rows() {
  std::vector<Method> rows;
  for (Method& row : pairing_rows()) {
    if (usual(row)) rows.push_back(std::move(row));
  }
  add_netvlad(rows);
  for (const Places& row : places()) add_places(rows, row, row.listed);
  add_trained_together(rows);
  add_systems(rows);
  add_anyloc(rows);
  return rows;
}

std::vector<Method> further_rows() {
  std::vector<Method> rows, anyloc;
  for (const Places& row : places()) add_places(rows, row, row.further);
  add_anyloc(anyloc);
  for (const std::string domain :
       {"indoor", "urban", "aerial", "structured", "unstructured", "global"}) {
    Method row = anyloc.front();
    row.name = "anyloc-" + domain;
    row.own.vlad.vocabulary = row.name;
    row.summary = "AnyLoc: VLAD of 32 published centres, " + domain;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ria
