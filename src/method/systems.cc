// SPDX-License-Identifier: MIT
// Published systems of one backbone and one head, read as their own evaluations read pictures.
#include <fmt/format.h>

#include "method/table.h"

namespace ria {

namespace {

constexpr char kMegaLoc[] = "Berton and Masone, MegaLoc, CVPRW 2025";
constexpr char kBoq[] =
    "Ali-bey et al., BoQ: a place is worth a bag of learnable queries, CVPR 2024";
constexpr char kSuperVlad[] = "Lu et al., SuperVLAD, NeurIPS 2024";
constexpr char kCricaVpr[] = "Lu et al., CricaVPR, CVPR 2024";
constexpr char kConvAp[] = "Ali-bey et al., GSV-Cities, Neurocomputing 2022";
constexpr char kApGem[] = "Revaud et al., Learning with average precision, ICCV 2019";
constexpr char kSfrs[] = "Ge et al., Self-supervising fine-grained region similarities, ECCV 2020";
constexpr char kEdtformer[] = "Jin et al., EDTformer, TCSVT 2025";
constexpr char kDinoMix[] = "Huang et al., DINO-Mix, Scientific Reports 2024";
constexpr char kQaa[] = "Xiao et al., Query-based adaptive aggregation, 2025";
constexpr char kCliqueMining[] = "Izquierdo and Civera, Close, but not there, ECCV 2024";
constexpr char kIndoor[] = "Chiavassa et al., Indoor-VPR";

constexpr char kVitB[] = "dinov2-vitb14";

/// Tokens of ViT-B's last block, through the final norm or as they leave it.
MethodOptions tokens(MethodOptions own, bool final_norm) {
  own.backbone.final_norm = final_norm;
  if (!final_norm) {
    own.backbone.layer = 11;
    own.backbone.facet = Facet::kToken;
  }
  return own;
}

/// As networks that resize to the nearest multiple of their patch read pictures.
MethodOptions rounded() {
  MethodOptions own = native();
  own.round_size = true;
  own.resize = "tensor_bilinear_aa";
  return own;
}

MethodOptions one_by_one(MethodOptions own) {
  own.cross_image = 1;
  return own;
}

Method row(const std::string& name,
           const char* backbone,
           const char* head,
           const std::string& summary,
           const char* paper,
           int dim,
           const MethodOptions& own) {
  return {name, backbone, head, fmt::format("{}, {} dims", summary, dim), paper, name, dim, own};
}

void add_transformers(std::vector<Method>& rows) {
  const MethodOptions aa322 = exact_size(322, 322, "tensor_bilinear_aa");
  const MethodOptions plain322 = exact_size(322, 322, "tensor_bilinear");
  const MethodOptions pil322 = exact_size(322, 322, "pil_bilinear");
  rows.push_back(
      row("megaloc", kVitB, "megaloc", "MegaLoc", kMegaLoc, 8448, tokens(rounded(), true)));
  rows.push_back(row("boq-dinov2-12288",
                     kVitB,
                     "boq",
                     "Bag of Queries on DINOv2",
                     kBoq,
                     12288,
                     tokens(exact_size(322, 322, "tensor_bicubic_aa"), false)));
  rows.push_back(row("supervlad",
                     kVitB,
                     "supervlad",
                     "SuperVLAD with its cross-image encoder, a picture at a time (--cross_image 8 "
                     "as published)",
                     kSuperVlad,
                     3072,
                     one_by_one(tokens(plain322, true))));
  rows.push_back(row("supervlad-plain",
                     kVitB,
                     "supervlad",
                     "SuperVLAD without cross-image encoder",
                     kSuperVlad,
                     3072,
                     tokens(plain322, true)));
  rows.push_back(row("supervlad-1-cluster",
                     kVitB,
                     "supervlad_1",
                     "SuperVLAD of one cluster",
                     kSuperVlad,
                     768,
                     tokens(plain322, true)));
  rows.push_back(row("cricavpr",
                     kVitB,
                     "cricavpr",
                     "CricaVPR, a picture at a time (--cross_image 16 as published)",
                     kCricaVpr,
                     10752,
                     one_by_one(tokens(exact_size(224, 224, "tensor_bilinear"), true))));
  rows.push_back(
      row("edtformer", kVitB, "edtformer", "EDTformer", kEdtformer, 4096, tokens(aa322, true)));
  rows.push_back(row("dinomix",
                     kVitB,
                     "mixvpr",
                     "DINO-Mix",
                     kDinoMix,
                     4096,
                     tokens(exact_size(224, 224, "pil_bilinear"), false)));
  for (const int dim : {8192, 4096, 2048, 1024}) {
    rows.push_back(
        row(fmt::format("qaa-{}", dim), kVitB, "qaa", "QAA", kQaa, dim, tokens(pil322, true)));
  }
  rows.push_back(row("clique-mining",
                     kVitB,
                     "salad",
                     "SALAD trained by CliqueMining",
                     kCliqueMining,
                     8448,
                     tokens(pil322, true)));
  rows.push_back(row("salad-indoor",
                     kVitB,
                     "salad",
                     "SALAD trained indoors (GB1)",
                     kIndoor,
                     8448,
                     tokens(rounded(), true)));
  rows.push_back(row("salad-indoor-hb1-gb1",
                     kVitB,
                     "salad",
                     "SALAD trained indoors (HB1 and GB1)",
                     kIndoor,
                     8448,
                     tokens(rounded(), true)));
}

void add_convolutional(std::vector<Method>& rows) {
  MethodOptions boq = exact_size(384, 384, "tensor_bicubic_aa");
  boq.backbone.cut = "layer3";
  rows.push_back(
      row("boq-resnet50-16384", "resnet50", "boq", "Bag of Queries on ResNet50", kBoq, 16384, boq));
  for (const int dim : {8192, 4096, 2048, 512}) {
    // The 4096 dims were trained on bicubic pictures, the 8192 on bilinear ones.
    MethodOptions own = exact_size(320, 320, dim == 4096 ? "pil_bicubic" : "pil_bilinear");
    own.backbone.cut = "layer4";
    rows.push_back(
        row(fmt::format("convap-{}", dim), "resnet50", "convap", "Conv-AP", kConvAp, dim, own));
  }
  rows.push_back(row("apgem",
                     "resnet101",
                     "apgem",
                     "AP-GeM, whitened (Landmarks-clean)",
                     kApGem,
                     2048,
                     native("layer4")));
  rows.push_back(row("apgem-resnet50",
                     "resnet50",
                     "apgem",
                     "AP-GeM on ResNet50, whitened (Landmarks-clean)",
                     kApGem,
                     2048,
                     native("layer4")));
  rows.push_back(row("apgem-lm18",
                     "resnet101",
                     "apgem",
                     "AP-GeM of Google Landmarks, whitened (Landmarks-clean)",
                     kApGem,
                     2048,
                     native("layer4")));
  rows.push_back(row("sfrs",
                     "vgg16",
                     "netvlad_head",
                     "SFRS: NetVLAD with whitening",
                     kSfrs,
                     4096,
                     exact_size(480, 640, "pil_bilinear")));
  for (const std::string variant : {"", "-s"}) {
    rows.push_back(row(
        "eigenplaces-indoor" + variant,
        "resnet50",
        "cosplace",
        variant.empty() ? "EigenPlaces trained indoors" : "EigenPlaces trained indoors (10_25_S)",
        kIndoor,
        2048,
        native("layer4")));
  }
}

}  // namespace

void add_systems(std::vector<Method>& rows) {
  add_transformers(rows);
  add_convolutional(rows);
}

}  // namespace ria
