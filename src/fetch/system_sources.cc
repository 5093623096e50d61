// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <utility>

#include "fetch/source_rows.h"

namespace ria {

namespace {

/// A file of a release on GitHub.
WeightSource released(const std::string& name,
                      const std::string& architecture,
                      const std::string& project,
                      const std::string& file,
                      const char* licence) {
  const std::string page = "https://github.com/" + project;
  return fetched(name, architecture, page, page + "/releases/download/" + file, licence);
}

WeightSource on_drive(const std::string& name,
                      const std::string& architecture,
                      const std::string& project,
                      const std::string& file,
                      const char* licence) {
  return visited(name, architecture, "https://github.com/" + project, file, licence);
}

WeightSource on_hugging_face(const std::string& name,
                             const std::string& architecture,
                             const std::string& repository,
                             const char* licence) {
  const std::string page = "https://huggingface.co/" + repository;
  return fetched(name, architecture, page, page + "/resolve/main/model.safetensors", licence);
}

void add_lu(Sources& all) {
  const std::string super = "Lu-Feng/SuperVLAD";
  all.push_back(
      on_drive("supervlad", "ViT-B/14 (SuperVLAD, cross-image encoder)", super, "FILE", kMit));
  all.push_back(on_drive("supervlad-plain", "ViT-B/14 (SuperVLAD)", super, "FILE", kMit));
  all.push_back(
      on_drive("supervlad-1-cluster", "ViT-B/14 (SuperVLAD, one cluster)", super, "FILE", kMit));
  all.push_back(released("cricavpr",
                         "ViT-B/14 with adapters (CricaVPR, 10752 dims)",
                         "Lu-Feng/CricaVPR",
                         "v1.0/CricaVPR.pth",
                         kMit));
}

void add_ali_bey(Sources& all) {
  const std::string boq = "amaralibey/Bag-of-Queries";
  all.push_back(released(
      "boq-dinov2-12288", "ViT-B/14 (BoQ, 12288 dims)", boq, "v1.0/dinov2_12288.pth", kMit));
  all.push_back(released(
      "boq-resnet50-16384", "resnet50 (BoQ, 16384 dims)", boq, "v1.0/resnet50_16384.pth", kMit));
  for (const int dim : {8192, 4096, 2048, 512}) {
    all.push_back(on_drive(fmt::format("convap-{}", dim),
                           fmt::format("resnet50 (Conv-AP, {} dims)", dim),
                           "amaralibey/gsv-cities",
                           fmt::format("resnet50_ConvAP_{}_2x2.ckpt", dim / 4),
                           kNoLicence));
  }
}

void add_indoor(Sources& all) {
  const std::string project = "Enrico-Chiavassa/Indoor-VPR";
  const std::array<std::array<std::string, 3>, 4> rows{
      {{"salad-indoor", "ViT-B/14 (SALAD, indoor)", "salad_Dinov2_8448_GB1_10_25"},
       {"salad-indoor-hb1-gb1", "ViT-B/14 (SALAD, indoor)", "salad_Dinov2_8448_HB1_GB1_2_5"},
       {"eigenplaces-indoor",
        "resnet50 (EigenPlaces, indoor)",
        "eigenplaces_ResNet50_2048_GB1_BAI_5_10"},
       {"eigenplaces-indoor-s",
        "resnet50 (EigenPlaces, indoor)",
        "eigenplaces_ResNet50_2048_GB1_BAI_10_25_S"}}};
  for (const auto& [name, architecture, file] : rows) {
    all.push_back(released(name, architecture, project, "v0.1.0/" + file + ".pth", kMit));
  }
}

void add_apgem(Sources& all) {
  const std::array<std::array<std::string, 3>, 3> rows{
      {{"apgem", "resnet101 (AP-GeM, whitening)", "Resnet-101-AP-GeM.pt"},
       {"apgem-resnet50", "resnet50 (AP-GeM, whitening)", "Resnet-50-AP-GeM.pt"},
       {"apgem-lm18", "resnet101 (AP-GeM, Landmarks)", "Resnet-101-AP-GeM-LM18.pt"}}};
  for (const auto& [name, architecture, file] : rows) {
    all.push_back(on_drive(name, architecture, "naver/deep-image-retrieval", file, kBsd));
  }
}

}  // namespace

void add_system_sources(Sources& all) {
  all.push_back(
      on_hugging_face("megaloc", "ViT-B/14 (MegaLoc, 8448 dims)", "gberton/MegaLoc", kMit));
  add_ali_bey(all);
  add_lu(all);
  add_apgem(all);
  all.push_back(released(
      "sfrs", "vgg16 (SFRS, 4096 dims)", "yxgeee/OpenIBL", "v0.1.0-beta/vgg16_netvlad.pth", kMit));
  all.push_back(released("edtformer",
                         "ViT-B/14 with adapters (EDTformer, 4096 dims)",
                         "Tong-Jin01/EDTformer",
                         "v1.0.0/EDTformer.pth",
                         kMit));
  all.push_back(released("dinomix",
                         "ViT-B/14 (DINO-Mix, 4096 dims)",
                         "GaoShuang98/DINO-Mix",
                         "v1.0.0/dinov2_vitb14_mix.ckpt",
                         kMit));
  for (const int dim : {8192, 4096, 2048, 1024}) {
    all.push_back(on_hugging_face(fmt::format("qaa-{}", dim),
                                  fmt::format("ViT-B/14 (QAA, {} dims)", dim),
                                  fmt::format("xjh19972/QAA-{}", dim),
                                  kNoLicence));
  }
  all.push_back(on_drive("clique-mining",
                         "ViT-B/14 (CliqueMining)",
                         "serizba/cliquemining",
                         "cliquemining.ckpt",
                         kGpl));
  add_indoor(all);
}

}  // namespace ria
