// SPDX-License-Identifier: MIT
// Studies that are tables of recalls: a few declared lines each. {} is the backbone asked for.
#include <fmt/format.h>

#include "ria/train.h"
#include "study/study.h"

namespace ria {

namespace {

RecallStudy methods_study() {
  return {
      {"methods",
       "Systems side by side",
       "tables 1 and 2",
       "recall of every published system whose weights are here, and of simple pooling"},
      {{"NetVLAD", "netvlad"},
       {"CosPlace", "cosplace-resnet101-512"},
       {"MixVPR", "mixvpr-4096"},
       {"SALAD", "salad"},
       {"SelaVPR", "selavpr"},
       {"DINOv2-RIA-FT", "ria-ft"},
       {"DINOv2-VLAD", "dinov2-vlad"},
       {"AnyLoc-VLAD-DINO", "anyloc-vlad-dino"},
       {"AnyLoc-VLAD-DINOv2", "anyloc-vlad-dinov2"},
       {"DINOv2-GeM", "dinov2-gem"},
       {"DINOv2-RIA", "dinov2-vitg14-ria"},
       {"mean", "{}-mean"},
       {"GeM", "{}-gem"},
       {"VLAD, 32 centres of the database", "{}-vlad"},
       {"RIA", "{}-ria"},
       {"RIA, d = 128", "{}-ria:d=128"}},
      &paper_methods(),
      {"The paper lists NetVLAD with 32,768 dims; AnyLoc, whose figures it repeats, ran a ResNet18 "
       "with 16,384 (netvlad-resnet18). CosPlace was run there with 2048 dims, the paper says 512.",
       "In the paper's table 2, CosPlace on Mid-Atlantic has R@1 40.6 above R@5 20.8: the columns "
       "are swapped.",
       "The paper gives RIA two figures with the same settings: tables 1 and 2 have Hawkins 66.7, "
       "Laurel 65.2, Mid-Atlantic 41.8 and Nardo-Air 84.5, its tables of seeds and projections "
       "52.54, 48.21, 31.68 and 90.14. The latter are whole numbers of queries: expect these."}};
}

RecallStudy backbones_study() {
  return {{"backbones",
           "RIA behind other backbones",
           "table 3",
           "the RIA head on features of trained systems and plain networks"},
          {{"MixVPR + RIA", "mixvpr-ria"},
           {"SALAD + RIA", "salad-ria"},
           {"SelaVPR + RIA", "selavpr-ria"},
           {"DINOv2 ViT-g/14", "dinov2-vitg14-ria"},
           {"DINOv2 ViT-L/14", "dinov2-vitl14-ria"},
           {"DINOv2 ViT-B/14", "dinov2-vitb14-ria"},
           {"DINOv2 ViT-S/14", "dinov2-vits14-ria"},
           {"DINO ViT-S/8", "dino-vits8-ria"},
           {"ImageNet ResNet50, layer3", "resnet50-ria"},
           {"ImageNet ResNet50, layer2", "resnet50-ria:cut=layer2"},
           {"ImageNet ResNet50, layer4", "resnet50-ria:cut=layer4"},
           {"ImageNet VGG16", "vgg16-ria"},
           {"dense RootSIFT", "rootsift-ria"}},
          &paper_backbones(),
          {"The paper's appendix names ViT-B/14 for SelaVPR; the published model is a ViT-L/14."}};
}

RecallStudy geometry_study() {
  return {{"geometry",
           "Statistical order and manifold geometry",
           "table 4",
           "first and second order, Euclidean and Riemannian mappings"},
          {{"1st order: mean", "{}-mean"},
           {"1st order: GeM", "{}-gem"},
           {"Euclidean covariance", "{}-ria:mapping=identity"},
           {"log-Euclidean", "{}-ria:mapping=log_euclidean"},
           {"log-Euclidean, centred", "{}-ria:mapping=log_euclidean_centred"},
           {"exact root", "{}-ria:mapping=power"},
           {"Newton-Schulz root (RIA)", "{}-ria"}},
          &paper_geometry(),
          {"The paper gives RIA on Nardo-Air as 76.1 here, 84.5 in tables 2 and 6 and 90.14 in the "
           "tables of its appendix."}};
}

RecallStudy alpha_study() {
  RecallStudy study{{"alpha",
                     "The power of the mapping",
                     "table 5",
                     "exact C^alpha from Euclidean (1) towards log-Euclidean (0)"},
                    {},
                    &paper_alpha(),
                    {"The paper's alpha = 0.5 is Newton-Schulz with K = 3, not the exact root that "
                     "its text says."}};
  for (const std::string alpha : {"1.0", "0.75", "0.5", "0.25", "0.1"}) {
    study.rows.push_back({"alpha = " + alpha, "{}-ria:mapping=power,alpha=" + alpha});
  }
  study.rows.push_back({"alpha -> 0 (log-Euclidean)", "{}-ria:mapping=log_euclidean"});
  study.rows.push_back({"Newton-Schulz, K = 3", "{}-ria"});
  return study;
}

RecallStudy stabilisation_study() {
  return {{"stabilisation",
           "Rectification, regularisation and solver",
           "table 6",
           "tau, eps and the matrix root, one after the other"},
          {{"base: no tau, no eps, exact", "{}-ria:mapping=power,tau=0,eps=0"},
           {"+ tau 1e-6", "{}-ria:mapping=power,tau=1e-6,eps=0"},
           {"+ tau 1e-5", "{}-ria:mapping=power,tau=1e-5,eps=0"},
           {"+ eps 1e-6", "{}-ria:mapping=power,tau=1e-5,eps=1e-6"},
           {"+ eps 1e-4", "{}-ria:mapping=power,tau=1e-5,eps=1e-4"},
           {"Newton-Schulz, K = 3", "{}-ria"}},
          &paper_stabilisation(),
          {"The paper gives Nardo-Air 84.5 for its default here, 76.1 in tables 4 and 5 and 90.14 "
           "in the tables of its appendix."}};
}

RecallStudy projection_study() {
  return {{"projection",
           "How features are brought to d = 64",
           "appendix, projection strategies",
           "random orthogonal, PCA on the database, PCA on other pictures"},
          {{"random orthogonal", "{}-ria"},
           {"PCA of the database", "{}-ria:projection=pca"},
           {"PCA of other pictures", "{}-ria:projection=pca:OTHER"}},
          &paper_projection(),
          {"The paper's other pictures are ImageNet's; here they are those of --other_pictures."}};
}

RecallStudy estimators_study() {
  return {{"estimators",
           "Rectification against shrinkage",
           "appendix, ReCov and shrinkage",
           "sample covariance, hard threshold, Ledoit-Wolf, OAS"},
          {{"sample covariance", "{}-ria:estimator=sample"},
           {"hard threshold (ReCov)", "{}-ria"},
           {"Ledoit-Wolf", "{}-ria:estimator=ledoit_wolf"},
           {"OAS", "{}-ria:estimator=oas"}},
          &paper_estimators(),
          {"The paper's Laurel 48.21 for its default contradicts its table 2, which has 65.2."}};
}

RecallStudy qualitative_study() {
  return {{"qualitative",
           "Queries and first answers",
           "figure 4",
           "rows of pictures with the first answers of each method, framed by right and wrong"},
          {{"MixVPR", "mixvpr-4096"},
           {"SALAD", "salad"},
           {"SelaVPR", "selavpr"},
           {"DINOv2-RIA", "dinov2-vitg14-ria"},
           {"GeM", "{}-gem"},
           {"RIA", "{}-ria"}}};
}

RecallStudy ft_components_study() {
  RecallStudy study{
      {"ft-components",
       "What fine-tuning adds",
       "appendix, RIA-FT components",
       "from training-free RIA to the fine-tuned one, component by component (--runs)"},
      {{"training-free", "dinov2-vitl14-ria"},
       {"RIA-FT", "ria-ft"},
       {"training-free, this backbone", "{}-ria"}},
      &paper_ft_components(),
      {"The paper publishes no checkpoints: 'ria train' makes those of the steps, --runs names "
       "their folder.",
       "The paper's training-free row repeats the 86.7 of ViT-g/14, though RIA-FT starts from "
       "ViT-L/14."}};
  for (const TrainRung& rung : train_ladder()) {
    study.rows.push_back(
        {rung.name, fmt::format("ria-ft:weights=RUNS/{}/model.safetensors", rung.folder)});
  }
  return study;
}

RecallStudy beyond_study() {
  RecallStudy study{{"beyond",
                     "RIA beyond the paper",
                     "not in the paper",
                     "riax at three lengths beside RIA, GeM and VLAD, with and without re-ranking"},
                    {},
                    nullptr,
                    {"riax knows neither the database nor a vocabulary; VLAD's 32 centres are "
                     "fitted on the database."}};
  const RecallRow heads[] = {{"GeM", "{}-gem"},
                             {"VLAD, 32 centres of the database", "{}-vlad"},
                             {"RIA", "{}-ria"},
                             {"RIAX, d = 64", "{}-riax:d=64"},
                             {"RIAX", "{}-riax"},
                             {"RIAX, d = 256", "{}-riax:d=256"}};
  for (const RecallRow& head : heads) study.rows.push_back(head);
  for (const RecallRow& head : heads) {
    const char* joint = head.method.find(':') == std::string::npos ? ":" : ",";
    study.rows.push_back({head.name + ", re-ranked", head.method + joint + "rerank=patches"});
  }
  study.costs = true;
  return study;
}

}  // namespace

const std::vector<RecallStudy>& recall_studies() {
  static const std::vector<RecallStudy> all = {methods_study(),
                                               backbones_study(),
                                               geometry_study(),
                                               alpha_study(),
                                               stabilisation_study(),
                                               projection_study(),
                                               estimators_study(),
                                               qualitative_study(),
                                               ft_components_study(),
                                               beyond_study()};
  return all;
}

}  // namespace ria
