// SPDX-License-Identifier: MIT
// The single changes augmentation is made of, as torchvision defines them on 8-bit pictures.
#pragma once

#include "ria/image.h"

namespace ria {

/// Between black (0) and the picture (1), and beyond.
void adjust_brightness(Image& image, double factor);
/// Between the mean grey (0) and the picture (1).
void adjust_contrast(Image& image, double factor);
/// Between the grey picture (0) and the picture (1).
void adjust_saturation(Image& image, double factor);
/// Between a smoothed picture (0) and the picture (1).
void adjust_sharpness(Image& image, double factor);
/// Turns the colours by a share of the circle, -0.5 to 0.5.
void adjust_hue(Image& image, double share);
/// 255 gain (value / 255)^gamma.
void adjust_gamma(Image& image, double gamma, double gain);
/// Keeps the first bits of each value.
void posterize(Image& image, int bits);
/// Inverts values from the threshold up.
void solarize(Image& image, double threshold);
/// Stretches each channel to the whole range.
void autocontrast(Image& image);
/// Spreads each channel's values so that all are about as frequent.
void equalize(Image& image);
void flip_horizontally(Image& image);

// Geometry is warp_image()'s: bilinear, and mirrored where torchvision fills with black.

/// x moves by -amount pixels a row, counted from the upper edge.
Image sheared_x(const Image& image, double amount);
Image sheared_y(const Image& image, double amount);
Image translated(const Image& image, int right, int down);
/// Counter-clockwise about the middle.
Image rotated(const Image& image, double degrees);

}  // namespace ria
