// SPDX-License-Identifier: MIT
#include "ria/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ria/check.h"
#include "ria/weights.h"

namespace ria {
namespace {

using testing::HasSubstr;

template <typename Run>
std::string message_of(Run run) {
  try {
    run();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Methods, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Method& method : methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_EQ(find_method(method.name).name, method.name);
    EXPECT_GT(method.dim, 0) << method.name;
    EXPECT_FALSE(method.paper.empty()) << method.name;
    EXPECT_NO_THROW(resolve_options(method, {}).validate()) << method.name;
  }
  for (const char* name : {"netvlad",
                           "netvlad-resnet18",
                           "cosplace-resnet101-2048",
                           "eigenplaces-resnet50-2048",
                           "mixvpr-4096",
                           "mixvpr-512",
                           "mixvpr-128",
                           "salad",
                           "megaloc",
                           "boq-dinov2-12288",
                           "boq-resnet50-16384",
                           "supervlad",
                           "cricavpr",
                           "convap-4096",
                           "apgem",
                           "sfrs",
                           "edtformer",
                           "dinomix",
                           "qaa-1024",
                           "clique-mining",
                           "salad-indoor",
                           "eigenplaces-indoor",
                           "selavpr",
                           "anyloc-vlad-dinov2",
                           "anyloc-vlad-dino",
                           "dinov2-vlad",
                           "dinov2-gem",
                           "dinov2-vitg14-reg-ria",
                           "dino-vits8-ria",
                           "mixvpr-ria",
                           "salad-ria",
                           "selavpr-ria",
                           "resnet50-ria",
                           "resnet50-riax",
                           "rootsift-riax",
                           "resnet50-gem",
                           "resnet50-vlad",
                           "resnet50-netvlad",
                           "ria-ft"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Methods, EveryWeightIsKnownWithItsSourceAndLicence) {
  for (const Method& method : methods()) {
    if (method.weights.empty()) continue;
    int found = 0;
    for (const WeightSource& source : weight_sources()) {
      if (source.name != method.weights) continue;
      ++found;
      EXPECT_FALSE(source.licence.empty()) << method.name;
      EXPECT_FALSE(source.how_to_add.empty()) << method.name;
      EXPECT_FALSE(source.source.empty()) << method.name;
    }
    EXPECT_EQ(found, 1) << method.name << " needs " << method.weights;
  }
}

TEST(Methods, AnyPairingHasAName) {
  EXPECT_EQ(find_method("resnet101-vlad").backbone, "resnet101");
  EXPECT_EQ(find_method("dino-vitb8-netvlad").aggregator, "netvlad");
  EXPECT_EQ(find_method("cosplace").name, "cosplace-resnet50-512");
  EXPECT_THAT(message_of([] { find_method("resnet50-nonsense"); }),
              HasSubstr("unknown method 'resnet50-nonsense', 'ria methods' lists all"));
}

TEST(Methods, AreNamedByTheirParts) {
  EXPECT_EQ(method_name("cosplace", "ResNet50", "", 2048), "cosplace-resnet50-2048");
  EXPECT_EQ(method_name("cosplace", "", "", 0), "cosplace-resnet50-512");
  EXPECT_EQ(method_name("eigenplaces", "VGG16", "", 0), "eigenplaces-vgg16-512");
  EXPECT_EQ(method_name("mixvpr", "", "", 512), "mixvpr-512");
  EXPECT_EQ(method_name("", "dinov2-vits14", "vlad", 0), "dinov2-vits14-vlad");
  EXPECT_EQ(method_name("", "dinov2", "vlad", 0), "dinov2-any-vlad");
  EXPECT_EQ(method_name("resnet50-ria", "", "", 8256), "resnet50-ria:d=128");
  EXPECT_EQ(method_name("resnet50-ria:center=true", "", "", 2080), "resnet50-ria:center=true,d=64");
  EXPECT_EQ(method_name("resnet50-riax", "", "", 2080), "resnet50-riax:d=64");
  EXPECT_EQ(method_name("", "dinov2-vitg14", "riax", 8256), "dinov2-vitg14-riax:d=128");
  EXPECT_EQ(method_name("rootsift-riax", "", "", 33000), "rootsift-riax:d=256");
  EXPECT_EQ(method_name("salad", "", "", 0), "salad");
  EXPECT_THAT(message_of([] { method_name("salad", "resnet50", "", 0); }),
              HasSubstr("method salad goes with backbone dinov2-vitb14, not with resnet50"));
  EXPECT_THAT(message_of([] { method_name("salad", "", "", 512); }),
              HasSubstr("descriptors_dimension is 512, which salad does not come in (pca 512"));
  EXPECT_THAT(message_of([] { method_name("", "resnet50", "salad", 0); }),
              HasSubstr("aggregator 'salad' does not go with any backbone"));
  EXPECT_THAT(message_of([] { method_name("", "resnet51", "ria", 0); }),
              HasSubstr("unknown backbone 'resnet51': did you mean resnet50? "));
  EXPECT_THAT(
      message_of([] { method_name("", "resnet50", "netvald", 0); }),
      HasSubstr("unknown aggregator 'netvald': did you mean netvlad? Known: ria, riax, gem,"));
}

// As VPR-methods-evaluation's command line has them.
TEST(Methods, OtherToolsNamesAreUnderstood) {
  for (const char* name : {"netvlad",
                           "apgem",
                           "sfrs",
                           "cosplace",
                           "convap",
                           "mixvpr",
                           "eigenplaces",
                           "salad",
                           "eigenplaces-indoor",
                           "salad-indoor",
                           "cricavpr",
                           "clique-mining",
                           "megaloc",
                           "boq",
                           "dinomix",
                           "supervlad",
                           "edtformer",
                           "qaa",
                           "anyloc-urban",
                           "anyloc-indoor",
                           "anyloc-aerial",
                           "anyloc-global",
                           "anyloc-structured",
                           "anyloc-unstructured"}) {
    EXPECT_NO_THROW(find_method(method_name(name, "", "", 0))) << name;
  }
  EXPECT_EQ(method_name("netvlad", "VGG16", "", 4096), "netvlad");
  EXPECT_EQ(method_name("netvlad", "VGG16", "", 32768), "netvlad-32768");
  EXPECT_EQ(method_name("boq", "ResNet50", "", 16384), "boq-resnet50-16384");
  EXPECT_EQ(method_name("boq", "DINOv2", "", 12288), "boq-dinov2-12288");
  EXPECT_EQ(method_name("boq", "Dinov2", "", 0), "boq-dinov2-12288");
  EXPECT_EQ(method_name("salad", "DINOv2", "", 8448), "salad");
  EXPECT_EQ(method_name("megaloc", "Dinov2", "", 8448), "megaloc");
  EXPECT_EQ(method_name("apgem", "Resnet101", "", 2048), "apgem");
  EXPECT_EQ(method_name("convap", "ResNet50", "", 8192), "convap-8192");
  EXPECT_EQ(method_name("qaa", "", "", 1024), "qaa-1024");
  EXPECT_EQ(method_name("eigenplaces-indoor", "ResNet50", "", 2048), "eigenplaces-indoor");
  EXPECT_EQ(method_name("anyloc-urban", "DINOv2", "", 49152), "anyloc-urban");
  EXPECT_EQ(resolve_options(find_method("anyloc-urban"), {}).vlad.vocabulary, "anyloc-urban");
  for (const char* backbone : {"ResNet50", "ResNet101", "ResNet152"}) {
    for (const int dim : {32, 64, 128, 256, 512, 1024, 2048}) {
      const Method& row = find_method(method_name("cosplace", backbone, "", dim));
      EXPECT_EQ(row.dim, dim);
      EXPECT_TRUE(std::any_of(weight_sources().begin(),
                              weight_sources().end(),
                              [&](const WeightSource& one) { return one.name == row.weights; }))
          << row.name;
    }
  }
  EXPECT_EQ(method_name("eigenplaces", "ResNet18", "", 256), "eigenplaces-resnet18-256");
  EXPECT_THAT(message_of([] { method_name("cosplace", "ResNet50", "", 300); }),
              HasSubstr("descriptors_dimension is 300"));
  EXPECT_THAT(message_of([] { method_name("boq", "VGG16", "", 0); }),
              HasSubstr("goes with backbone dinov2-vitb14, not with VGG16"));
}

TEST(Methods, PicturesAreComparedOnlyWhereAMethodDoesThat) {
  const MethodOptions own = resolve_options(find_method("cricavpr"), {});
  EXPECT_EQ(own.cross_image, 1);
  EXPECT_THAT(options_json(find_method("cricavpr"), {}), HasSubstr("\"cross_image\":1"));
  EXPECT_EQ(choose_method("cricavpr:cross_image=16").options.cross_image, 16);
  EXPECT_FALSE(has_cross_image(find_method("supervlad-plain")));
  EXPECT_THAT(message_of([] { choose_method("supervlad:cross_image=-1"); }),
              HasSubstr("cross_image is -1"));
}

TEST(Methods, RiaAndRiaxHaveTheirOwnDimension) {
  EXPECT_EQ(find_method("resnet50-riax").dim, 8256);
  EXPECT_EQ(find_method("dino-vits8-riax").backbone, "dino-vits8");
  EXPECT_EQ(choose_method("resnet50-riax").options.riax.d, 128);
  EXPECT_EQ(choose_method("resnet50-ria").options.ria.d, 64);
  const MethodChoice choice = choose_method("resnet50-riax:d=64,seed=7,shrinkage=0.2");
  const std::string json = options_json(*choice.method, choice.options);
  EXPECT_THAT(json, HasSubstr("\"d\":64,\"seed\":7,\"shrinkage\":0.2"));
  EXPECT_EQ(options_json(*choice.method, parse_options_json(json)), json);
  EXPECT_THAT(message_of([] { method_name("resnet50-riax", "", "", 33001); }),
              HasSubstr("riax has d(d+1)/2 values"));
  EXPECT_THAT(message_of([] { method_name("resnet50-riax", "", "", 2016); }),  // of d = 63
              HasSubstr("riax has d(d+1)/2 values"));
}

TEST(Methods, OptionsBehindTheNameReplaceTheOthers) {
  MethodOptions base;
  base.ria.tau = 0.5;
  const MethodChoice choice = choose_method(
      "resnet50-ria:d=128,mapping=log_euclidean,center=true,image_size=240x320,rerank=patches",
      base);
  EXPECT_EQ(choice.method->name, "resnet50-ria");
  EXPECT_EQ(choice.options.ria.d, 128);
  EXPECT_EQ(choice.options.ria.tau, 0.5);
  EXPECT_EQ(choice.options.ria.mapping, Mapping::kLogEuclidean);
  EXPECT_TRUE(choice.options.post.center);
  EXPECT_EQ(choice.options.image_height, 240);
  EXPECT_EQ(choice.options.image_width, 320);
  EXPECT_EQ(choice.options.rerank, "patches");
  EXPECT_THAT(message_of([] { choose_method("resnet50-ria:dd=3"); }),
              HasSubstr("method 'resnet50-ria:dd=3': unknown option 'dd': did you mean d? "));
  EXPECT_THAT(message_of([] { choose_method("resnet50-ria:d"); }),
              HasSubstr("'d' is not an option as key=value"));
  EXPECT_THAT(message_of([] { choose_method("resnet50-ria:d=many"); }),
              HasSubstr("options are not what was expected: d is \"many\""));
  EXPECT_THAT(message_of([] { choose_method("resnet50-ria:rerank=twice"); }),
              HasSubstr("unknown rerank 'twice', known: none, patches, local"));
}

TEST(Methods, WhatTheCallerLeavesOpenIsTheMethodsOwn) {
  const MethodOptions salad = resolve_options(find_method("salad"), {});
  EXPECT_TRUE(salad.backbone.final_norm);
  EXPECT_EQ(salad.image_height, 322);
  EXPECT_EQ(salad.resize, "pil_bilinear");
  const MethodOptions megaloc = resolve_options(find_method("megaloc"), {});
  EXPECT_TRUE(megaloc.native_size && megaloc.round_size);
  EXPECT_EQ(megaloc.resize, "tensor_bilinear_aa");
  EXPECT_FALSE(resolve_options(find_method("boq-dinov2-12288"), {}).backbone.final_norm);
  MethodOptions larger;
  larger.longest_side = 448;
  EXPECT_EQ(resolve_options(find_method("salad"), larger).image_height, 0);
  EXPECT_EQ(resolve_options(find_method("anyloc-vlad-dino"), {}).vlad.clusters, 128);
  EXPECT_EQ(resolve_options(find_method("anyloc-vlad-dino"), {}).vlad.vocabulary, "database");
  EXPECT_EQ(resolve_options(find_method("anyloc-vlad-dinov2"), {}).vlad.vocabulary,
            "anyloc-global");
  EXPECT_EQ(resolve_options(find_method("selavpr"), {}).rerank, "local");
  EXPECT_EQ(resolve_options(find_method("dinov2-gem"), {}).gem.sign, GemSign::kPreserve);
}

TEST(Methods, OptionsSurviveJson) {
  MethodOptions options;
  options.post = {true, 64, true};
  options.rerank = "patches";
  options.rerank_depth = 20;
  options.vlad.clusters = 7;
  const Method& vlad = find_method("resnet50-vlad");
  const MethodOptions again = parse_options_json(options_json(vlad, options));
  EXPECT_EQ(options_json(vlad, again), options_json(vlad, options));
  EXPECT_EQ(again.post.pca, 64);
  EXPECT_TRUE(again.post.whiten);
  EXPECT_EQ(again.rerank_depth, 20);
  EXPECT_EQ(again.vlad.clusters, 7);
  for (const Method& method : methods()) {
    const std::string text = options_json(method, {});
    EXPECT_EQ(options_json(method, parse_options_json(text)), text) << method.name;
  }
}

// The small networks here, and of the larger ones each head once; `ria methods --check` runs all.
TEST(Methods, RunWithMadeUpWeights) {
  std::vector<std::string> names;
  std::set<std::pair<std::string, bool>> heads;
  for (const Method& method : methods()) {
    const bool large = method.backbone.find("vitg14") != std::string::npos ||
                       method.backbone.find("vitl14") != std::string::npos ||
                       method.backbone == "resnet152";
    const bool again = method.backbone == "dinov2-vitb14" &&
                       !heads.insert({method.aggregator, has_cross_image(method)}).second;
    if (!large && !again) names.push_back(method.name);
  }
  names.push_back("vgg16-vlad");
  names.push_back("resnet18-netvlad");
  CheckOptions options;
  options.side = 140;
  for (const MethodCheck& check : check_methods(names, options)) {
    EXPECT_EQ(check.error, "") << check.method;
    EXPECT_EQ(check.dim, check.expected_dim) << check.method;
    EXPECT_TRUE(check.finite && check.same_bits) << check.method;
    EXPECT_NEAR(check.norm, 1, 1e-5) << check.method;
  }
}

}  // namespace
}  // namespace ria
