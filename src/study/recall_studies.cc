// SPDX-License-Identifier: MIT
// Studies that are tables of recalls: a few declared lines each. {} is the backbone asked for.
#include "study/study.h"

namespace ria {

namespace {

RecallStudy methods_study() {
  return {
      {"methods",
       "Systems side by side",
       "tables 1 and 2",
       "recall of every published system whose weights are here, and of simple pooling"},
      {{"NetVLAD", "netvlad", {{"Pitts30k", 86.1}, {"Gardens", 58.5}, {"17places", 61.6}}},
       {"CosPlace", "cosplace-resnet101-512", {{"Pitts30k", 90.4}, {"Gardens", 74.0}}},
       {"MixVPR", "mixvpr-4096", {{"Pitts30k", 91.5}, {"Gardens", 91.5}}},
       {"SALAD", "salad", {{"Pitts30k", 92.3}, {"Gardens", 96.0}}},
       {"SelaVPR", "selavpr", {{"Pitts30k", 93.0}, {"Gardens", 96.0}}},
       {"DINOv2-RIA-FT", "ria-ft", {{"Pitts30k", 93.5}, {"Gardens", 98.2}}},
       {"DINOv2-VLAD", "dinov2-vlad", {{"Pitts30k", 85.7}, {"Gardens", 96.5}}},
       {"AnyLoc-VLAD-DINO", "anyloc-vlad-dino", {{"Pitts30k", 83.4}, {"Gardens", 95.0}}},
       {"AnyLoc-VLAD-DINOv2", "anyloc-vlad-dinov2", {{"Pitts30k", 87.7}, {"Gardens", 95.5}}},
       {"DINOv2-GeM", "dinov2-gem", {{"Pitts30k", 83.6}, {"Gardens", 89.5}}},
       {"DINOv2-RIA", "dinov2-vitg14-ria", {{"Pitts30k", 86.7}, {"Gardens", 97.5}}},
       {"mean", "{}-mean"},
       {"GeM", "{}-gem"},
       {"VLAD, 32 centres of the database", "{}-vlad"},
       {"RIA", "{}-ria"},
       {"RIA, d = 128", "{}-ria:d=128"}},
      {"The paper lists NetVLAD with 32,768 dims; AnyLoc, whose figures it repeats, ran a ResNet18 "
       "with 16,384 (netvlad-resnet18). CosPlace was run there with 2048 dims, the paper says 512.",
       "In the paper's table 2, CosPlace on Mid-Atlantic has R@1 40.6 above R@5 20.8: the columns "
       "are swapped. Hawkins, Laurel and Mid-Atlantic of its main tables contradict its own seed "
       "table (66.7 against 52.5 for RIA on Hawkins)."}};
}

RecallStudy backbones_study() {
  return {{"backbones",
           "RIA behind other backbones",
           "table 3",
           "the RIA head on features of trained systems and plain networks"},
          {{"MixVPR + RIA", "mixvpr-ria", {{"Hawkins", 34.75}, {"Laurel", 38.39}}},
           {"SALAD + RIA", "salad-ria", {{"Hawkins", 47.46}, {"Laurel", 48.21}}},
           {"SelaVPR + RIA", "selavpr-ria", {{"Hawkins", 36.44}, {"Laurel", 66.96}}},
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
          {"The paper's appendix names ViT-B/14 for SelaVPR; the published model is a ViT-L/14."}};
}

RecallStudy geometry_study() {
  return {
      {"geometry",
       "Statistical order and manifold geometry",
       "table 4",
       "first and second order, Euclidean and Riemannian mappings"},
      {{"1st order: mean", "{}-mean"},
       {"1st order: GeM", "{}-gem", {{"Pitts30k", 83.6}, {"Nardo-Air", 71.8}}},
       {"Euclidean covariance",
        "{}-ria:mapping=identity",
        {{"Pitts30k", 82.2}, {"Nardo-Air", 70.4}}},
       {"log-Euclidean", "{}-ria:mapping=log_euclidean", {{"Pitts30k", 86.1}, {"Nardo-Air", 63.4}}},
       {"log-Euclidean, centred", "{}-ria:mapping=log_euclidean_centred"},
       {"exact root", "{}-ria:mapping=power"},
       {"Newton-Schulz root (RIA)", "{}-ria", {{"Pitts30k", 86.7}, {"Nardo-Air", 76.1}}}},
      {"The paper gives RIA on Nardo-Air as 76.1 here, 84.5 in table 6 and 90.1 in its seed "
       "table."}};
}

RecallStudy alpha_study() {
  RecallStudy study{{"alpha",
                     "The power of the mapping",
                     "table 5",
                     "exact C^alpha from Euclidean (1) towards log-Euclidean (0)"},
                    {}};
  const std::vector<std::pair<const char*, std::vector<PaperValue>>> alphas = {
      {"1.0", {{"Pitts30k", 82.2}, {"Nardo-Air", 70.4}}},
      {"0.75", {{"Pitts30k", 83.5}, {"Nardo-Air", 75.5}}},
      {"0.5", {{"Pitts30k", 86.7}, {"Nardo-Air", 76.1}}},
      {"0.25", {{"Pitts30k", 85.6}, {"Nardo-Air", 64.8}}},
      {"0.1", {{"Pitts30k", 86.0}, {"Nardo-Air", 54.9}}}};
  for (const auto& [alpha, paper] : alphas) {
    study.rows.push_back({std::string("alpha = ") + alpha,
                          std::string("{}-ria:mapping=power,alpha=") + alpha,
                          paper});
  }
  study.rows.push_back({"alpha -> 0 (log-Euclidean)",
                        "{}-ria:mapping=log_euclidean",
                        {{"Pitts30k", 86.1}, {"Nardo-Air", 63.4}}});
  study.rows.push_back({"Newton-Schulz, K = 3", "{}-ria"});
  study.notes = {
      "The paper's alpha = 0.5 is Newton-Schulz with K = 3, not the exact root its text says."};
  return study;
}

RecallStudy stabilisation_study() {
  return {{"stabilisation",
           "Rectification, regularisation and solver",
           "table 6",
           "tau, eps and the matrix root, one after the other"},
          {{"base: no tau, no eps, exact",
            "{}-ria:mapping=power,tau=0,eps=0",
            {{"Pitts30k", 85.8}, {"Nardo-Air", 82.4}}},
           {"+ tau 1e-6",
            "{}-ria:mapping=power,tau=1e-6,eps=0",
            {{"Pitts30k", 85.9}, {"Nardo-Air", 82.4}}},
           {"+ tau 1e-5",
            "{}-ria:mapping=power,tau=1e-5,eps=0",
            {{"Pitts30k", 86.1}, {"Nardo-Air", 82.9}}},
           {"+ eps 1e-6",
            "{}-ria:mapping=power,tau=1e-5,eps=1e-6",
            {{"Pitts30k", 86.2}, {"Nardo-Air", 83.1}}},
           {"+ eps 1e-4",
            "{}-ria:mapping=power,tau=1e-5,eps=1e-4",
            {{"Pitts30k", 85.3}, {"Nardo-Air", 80.8}}},
           {"Newton-Schulz, K = 3", "{}-ria", {{"Pitts30k", 86.7}, {"Nardo-Air", 84.5}}}},
          {"With Nardo-Air's 71 queries most of the paper's figures here are no whole number of "
           "queries "
           "(82.4, 82.9, 83.1, 80.8): they cannot come from one run."}};
}

RecallStudy projection_study() {
  return {{"projection",
           "How features are brought to d = 64",
           "appendix, projection strategies",
           "random orthogonal, PCA on the database, PCA on other pictures, none"},
          {{"random orthogonal",
            "{}-ria",
            {{"Pitts30k", 86.36}, {"Nardo-Air", 90.14}, {"Hawkins", 52.54}}},
           {"PCA of the database",
            "{}-ria:projection=pca",
            {{"Pitts30k", 84.76}, {"Nardo-Air", 81.69}, {"Hawkins", 43.22}}},
           {"PCA of other pictures",
            "{}-ria:projection=pca:OTHER",
            {{"Pitts30k", 85.48}, {"Nardo-Air", 63.38}, {"Hawkins", 36.44}}}},
          {"The paper's other pictures are ImageNet's; here they are those of --other_pictures."}};
}

RecallStudy estimators_study() {
  return {
      {"estimators",
       "Rectification against shrinkage",
       "appendix, ReCov and shrinkage",
       "sample covariance, hard threshold, Ledoit-Wolf, OAS"},
      {{"sample covariance",
        "{}-ria:estimator=sample",
        {{"Pitts30k", 86.41}, {"Nardo-Air", 90.14}}},
       {"hard threshold (ReCov)", "{}-ria", {{"Pitts30k", 86.36}, {"Nardo-Air", 90.14}}},
       {"Ledoit-Wolf", "{}-ria:estimator=ledoit_wolf", {{"Pitts30k", 86.41}, {"Nardo-Air", 90.14}}},
       {"OAS", "{}-ria:estimator=oas", {{"Pitts30k", 86.40}, {"Nardo-Air", 90.14}}}}};
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
  return {{"ft-components",
           "What fine-tuning adds",
           "appendix, RIA-FT components",
           "from training-free RIA to the fine-tuned one, component by component"},
          {{"training-free", "dinov2-vitl14-ria", {{"Pitts30k", 86.7}}},
           {"RIA-FT", "ria-ft", {{"Pitts30k", 93.5}}},
           {"training-free, this backbone", "{}-ria"}},
          {"The steps between (unfreezing 89.3, learnable projection 90.8, four heads 92.0 on "
           "Pitts30k) need "
           "a checkpoint each; the paper publishes none. Give yours with --weights to ria-ft."}};
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
                                               ft_components_study()};
  return all;
}

}  // namespace ria
