// SPDX-License-Identifier: MIT
// All of ria.
#pragma once

#include "ria/aggregator.h"
#include "ria/backbone.h"
#include "ria/dataset.h"
#include "ria/evaluate.h"
#include "ria/features.h"
#include "ria/image.h"
#include "ria/index.h"
#include "ria/manifold.h"
#include "ria/method.h"
#include "ria/recognizer.h"
#include "ria/report.h"
#include "ria/rerank.h"
#include "ria/simulate.h"
#include "ria/store.h"
#include "ria/verify.h"
#include "ria/version.h"
#include "ria/vocabulary.h"
#include "ria/weights.h"
