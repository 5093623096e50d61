// SPDX-License-Identifier: MIT
// Letters of strokes. The Hershey Fonts were originally created by Dr. A. V. Hershey while working
// at the U.S. National Bureau of Standards; the format of the font data was originally created by
// James Hurt, Cognition, Inc., 900 Technology Park Drive, Billerica, MA 01821
// (mit-eddie!ci-dandelion!hurt).
#include "image/text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ria {

namespace {

// Roman simplex, from ' ' to '~'. Each pair of characters is a point, right and down from 'R':
// first the left and right border, then the corners of strokes; " R" lifts the pen.
// clang-format off
constexpr std::array<std::string_view, 95> kGlyphs = {
    R"(JZ)",
    R"(MWRFRT RRYQZR[SZRY)",
    R"(JZNFNM RVFVM)",
    R"(H]SBLb RYBRb RLOZO RKUYU)",
    R"(H\PBP_ RTBT_ RYIWGTFPFMGKIKKLMMNOOUQWRXSYUYXWZT[P[MZKX)",
    R"(F^[FI[ RNFPHPJOLMMKMIKIIJGLFNFPGSHVHYG[F RWTUUTWTYV[X[ZZ[X[VYTWT)",
    R"(E_\O\N[MZMYNXPVUTXRZP[L[JZIYHWHUISJRQNRMSKSIRGPFNGMIMKNNPQUXWZY[[[\Z\Y)",
    R"(MWRHQGRFSGSIRKQL)",
    R"(KYVBTDRGPKOPOTPYR]T`Vb)",
    R"(KYNBPDRGTKUPUTTYR]P`Nb)",
    R"(JZRFRR RMIWO RWIMO)",
    R"(E_RIR[ RIR[R)",
    R"(MWSZR[QZRYSZS\R^Q_)",
    R"(E_IR[R)",
    R"(MWRYQZR[SZRY)",
    R"(G][BIb)",
    R"(H\QFNGLJKOKRLWNZQ[S[VZXWYRYOXJVGSFQF)",
    R"(H\NJPISFS[)",
    R"(H\LKLJMHNGPFTFVGWHXJXLWNUQK[Y[)",
    R"(H\MFXFRNUNWOXPYSYUXXVZS[P[MZLYKW)",
    R"(H\UFKTZT RUFU[)",
    R"(H\WFMFLOMNPMSMVNXPYSYUXXVZS[P[MZLYKW)",
    R"(H\XIWGTFRFOGMJLOLTMXOZR[S[VZXXYUYTXQVOSNRNOOMQLT)",
    R"(H\YFO[ RKFYF)",
    R"(H\PFMGLILKMMONSOVPXRYTYWXYWZT[P[MZLYKWKTLRNPQOUNWMXKXIWGTFPF)",
    R"(H\XMWPURRSQSNRLPKMKLLINGQFRFUGWIXMXRWWUZR[P[MZLX)",
    R"(MWRMQNROSNRM RRYQZR[SZRY)",
    R"(MWRMQNROSNRM RSZR[QZRYSZS\R^Q_)",
    R"(F^ZIJRZ[)",
    R"(E_IO[O RIU[U)",
    R"(F^JIZRJ[)",
    R"(I[LKLJMHNGPFTFVGWHXJXLWNVORQRT RRYQZR[SZRY)",
    R"(E`WNVLTKQKOLNMMPMSNUPVSVUUVS RQKOMNPNSOUPV RWKVSVUXVZV\T]Q]O\L[JYHWGTFQFNGLHJJILHOHR)"
    R"(IUJWLYNZQ[T[WZYYZX RXKWSWUXV)",
    R"(I[RFJ[ RRFZ[ RMTWT)",
    R"(G\KFK[ RKFTFWGXHYJYLXNWOTP RKPTPWQXRYTYWXYWZT[K[)",
    R"(H]ZKYIWGUFQFOGMILKKNKSLVMXOZQ[U[WZYXZV)",
    R"(G\KFK[ RKFRFUGWIXKYNYSXVWXUZR[K[)",
    R"(H[LFL[ RLFYF RLPTP RL[Y[)",
    R"(HZLFL[ RLFYF RLPTP)",
    R"(H]ZKYIWGUFQFOGMILKKNKSLVMXOZQ[U[WZYXZVZS RUSZS)",
    R"(G]KFK[ RYFY[ RKPYP)",
    R"(NVRFR[)",
    R"(JZVFVVUYTZR[P[NZMYLVLT)",
    R"(G\KFK[ RYFKT RPOY[)",
    R"(HYLFL[ RL[X[)",
    R"(F^JFJ[ RJFR[ RZFR[ RZFZ[)",
    R"(G]KFK[ RKFY[ RYFY[)",
    R"(G]PFNGLIKKJNJSKVLXNZP[T[VZXXYVZSZNYKXIVGTFPF)",
    R"(G\KFK[ RKFTFWGXHYJYMXOWPTQKQ)",
    R"(G]PFNGLIKKJNJSKVLXNZP[T[VZXXYVZSZNYKXIVGTFPF RSWY])",
    R"(G\KFK[ RKFTFWGXHYJYLXNWOTPKP RRPY[)",
    R"(H\YIWGTFPFMGKIKKLMMNOOUQWRXSYUYXWZT[P[MZKX)",
    R"(JZRFR[ RKFYF)",
    R"(G]KFKULXNZQ[S[VZXXYUYF)",
    R"(I[JFR[ RZFR[)",
    R"(F^HFM[ RRFM[ RRFW[ R\FW[)",
    R"(H\KFY[ RYFK[)",
    R"(I[JFRPR[ RZFRP)",
    R"(H\YFK[ RKFYF RK[Y[)",
    R"(KYOBOb RPBPb ROBVB RObVb)",
    R"(KYKFY^)",
    R"(KYTBTb RUBUb RNBUB RNbUb)",
    R"(JZPLRITL RMORJWO RRJR[)",
    R"(JZJ]Z])",
    R"(MWSFRGQIQKRLSKRJ)",
    R"(I\XMX[ RXPVNTMQMONMPLSLUMXOZQ[T[VZXX)",
    R"(H[LFL[ RLPNNPMSMUNWPXSXUWXUZS[P[NZLX)",
    R"(I[XPVNTMQMONMPLSLUMXOZQ[T[VZXX)",
    R"(I\XFX[ RXPVNTMQMONMPLSLUMXOZQ[T[VZXX)",
    R"(I[LSXSXQWOVNTMQMONMPLSLUMXOZQ[T[VZXX)",
    R"(MYWFUFSGRJR[ ROMVM)",
    R"(I\XMX]W`VaTbQbOa RXPVNTMQMONMPLSLUMXOZQ[T[VZXX)",
    R"(I\MFM[ RMQPNRMUMWNXQX[)",
    R"(NVQFRGSFREQF RRMR[)",
    R"(MWRFSGTFSERF RSMS^RaPbNb)",
    R"(IZMFM[ RWMMW RQSX[)",
    R"(NVRFR[)",
    R"(CaGMG[ RGQJNLMOMQNRQR[ RRQUNWMZM\N]Q][)",
    R"(I\MMM[ RMQPNRMUMWNXQX[)",
    R"(I\QMONMPLSLUMXOZQ[T[VZXXYUYSXPVNTMQM)",
    R"(H[LMLb RLPNNPMSMUNWPXSXUWXUZS[P[NZLX)",
    R"(I\XMXb RXPVNTMQMONMPLSLUMXOZQ[T[VZXX)",
    R"(KXOMO[ ROSPPRNTMWM)",
    R"(J[XPWNTMQMNNMPNRPSUTWUXWXXWZT[Q[NZMX)",
    R"(MYRFRWSZU[W[ ROMVM)",
    R"(I\MMMWNZP[S[UZXW RXMX[)",
    R"(JZLMR[ RXMR[)",
    R"(G]JMN[ RRMN[ RRMV[ RZMV[)",
    R"(J[MMX[ RXMM[)",
    R"(JZLMR[ RXMR[P_NaLbKb)",
    R"(J[XMM[ RMMXM RM[X[)",
    R"(KYTBRCQDPFPHQJRKSMSOQQ RRCQEQGRISJTLTNSPORSTTVTXSZR[Q]Q_Ra RQSSUSWRYQZP\P^Q`RaTb)",
    R"(NVRBRb)",
    R"(KYPBRCSDTFTHSJRKQMQOSQ RRCSESGRIQJPLPNQPURQTPVPXQZR[S]S_Ra RSSQUQWRYSZT\T^S`RaPb)",
    R"(F^IUISJPLONOPPTSVTXTZS[Q RISJQLPNPPQTTVUXUZT[Q[O)"};
// clang-format on
constexpr char kOrigin = 'R';
constexpr char kTop = 'F', kBaseline = '[';  // of capitals

std::string_view glyph_of(char c) { return kGlyphs[(c >= ' ' && c <= '~' ? c : '?') - ' ']; }

struct Point {
  double x;
  double y;
};

/// Darkens what the pen touches on its way between two points; the rim of its mark is soft.
void draw_stroke(Image& image, Point a, Point b, double thickness) {
  const double reach = thickness / 2 + 0.5;
  const auto first = [&](double from) { return std::max(0, static_cast<int>(from - reach)); };
  const auto last = [&](double to, int size) {
    return std::min(size - 1, static_cast<int>(std::ceil(to + reach)));
  };
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double square = std::max(dx * dx + dy * dy, 1e-12);
  for (int y = first(std::min(a.y, b.y)); y <= last(std::max(a.y, b.y), image.height); ++y) {
    for (int x = first(std::min(a.x, b.x)); x <= last(std::max(a.x, b.x), image.width); ++x) {
      const double along = std::clamp(((x - a.x) * dx + (y - a.y) * dy) / square, 0.0, 1.0);
      const double distance = std::hypot(x - a.x - along * dx, y - a.y - along * dy);
      const double ink = std::clamp(reach - distance, 0.0, 1.0);
      const auto light = static_cast<std::uint8_t>(std::lround(255 * (1 - ink)));
      std::uint8_t* rgb = &image.rgb[(static_cast<std::size_t>(y) * image.width + x) * 3];
      for (int c = 0; c < 3; ++c) rgb[c] = std::min(rgb[c], light);
    }
  }
}

/// Draws a letter whose left border is at `corner.x` and whose baseline is at `corner.y`.
void draw_glyph(Image& image, std::string_view glyph, Point corner, double scale) {
  constexpr double kThickness = 3;
  const auto point = [&](std::size_t i) {
    return Point{corner.x + (glyph[i] - glyph[0]) * scale,
                 corner.y + (glyph[i + 1] - kBaseline) * scale};
  };
  const auto lifts = [&](std::size_t i) { return glyph[i] == ' ' && glyph[i + 1] == kOrigin; };
  for (std::size_t i = 4; i + 1 < glyph.size(); i += 2) {
    if (!lifts(i - 2) && !lifts(i)) draw_stroke(image, point(i - 2), point(i), kThickness);
  }
}

}  // namespace

void draw_text(Image& image, std::string_view text, int middle_x, int middle_y, int most_width) {
  constexpr double kCapitals = 36;
  double width = 0;  // in the font's units
  for (const char c : text) width += glyph_of(c)[1] - glyph_of(c)[0];
  const double scale = std::min(kCapitals / (kBaseline - kTop), most_width / std::max(width, 1.0));
  Point corner{middle_x - width * scale / 2, middle_y + (kBaseline - kTop) * scale / 2};
  for (const char c : text) {
    const std::string_view glyph = glyph_of(c);
    draw_glyph(image, glyph, corner, scale);
    corner.x += (glyph[1] - glyph[0]) * scale;
  }
}

}  // namespace ria
