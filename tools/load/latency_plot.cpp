#include "tools/load/latency_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom {

namespace {

constexpr double kWidth = 860, kHeight = 460;
constexpr double kLeft = 80, kRight = 180, kTop = 50, kBottom = 60;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
// Quantiles from 0 to five nines.
constexpr double kNines = 5;
constexpr int kPoints = 200;
// Distinct without colour vision as well: each line has a dash pattern of its own.
struct Style {
  const char *color, *dash;
};
constexpr std::array<Style, 6> kStyles = {{{"#0072b2", ""},
                                           {"#d55e00", "8 4"},
                                           {"#009e73", "2 3"},
                                           {"#cc79a7", "10 3 2 3"},
                                           {"#e69f00", "4 4"},
                                           {"#56b4e9", "1 4"}}};

struct Scale {
  double low, high;  // powers of ten around all latencies, in us
  double y(double us) const {
    const double share = (std::log10(us) - std::log10(low)) / (std::log10(high) - std::log10(low));
    return kTop + kPlotHeight * (1 - std::clamp(share, 0.0, 1.0));
  }
};

double x(double nines) { return kLeft + kPlotWidth * nines / kNines; }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string label(double left, double top, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", left, top,
                     anchor, escaped(text));
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", x1, y1,
      x2, y2);
}

std::string axes(const Scale& scale) {
  std::string out;
  for (double us = scale.low; us <= scale.high * 1.01; us *= 10) {
    out += grid_line(kLeft, scale.y(us), kLeft + kPlotWidth, scale.y(us));
    out += label(kLeft - 8, scale.y(us) + 4, "end",
                 us < 1000 ? fmt::format("{:g} us", us) : fmt::format("{:g} ms", us / 1000));
  }
  constexpr std::array<const char*, 6> kShares = {"0 %",    "90 %",    "99 %",
                                                  "99.9 %", "99.99 %", "99.999 %"};
  for (std::size_t nines = 0; nines < kShares.size(); ++nines) {
    const double at = x(static_cast<double>(nines));
    out += grid_line(at, kTop, at, kTop + kPlotHeight);
    out += label(at, kTop + kPlotHeight + 20, "middle", kShares[nines]);
  }
  out += label(kLeft + kPlotWidth / 2, kHeight - 14, "middle", "share of requests no slower");
  return out;
}

std::string line(const LatencyHistogram& histogram, const Scale& scale, const Style& style) {
  // No further than the histogram has requests to speak of.
  const double most = std::min(kNines, std::log10(static_cast<double>(histogram.count())));
  std::string points;
  for (int p = 0; p <= kPoints; ++p) {
    const double nines = most * p / kPoints;
    const double us = std::max(histogram.quantile_us(1 - std::pow(10, -nines)), scale.low);
    points += fmt::format("{:.1f},{:.1f} ", x(nines), scale.y(us));
  }
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\""
      " stroke-dasharray=\"{}\"/>\n",
      points, style.color, style.dash);
}

}  // namespace

std::string latency_plot(
    const std::string& title,
    const std::vector<std::pair<std::string, const LatencyHistogram*>>& lines) {
  double low = 1e9, high = 1;
  for (const auto& [name, histogram] : lines) {
    if (histogram->count() == 0) continue;
    low = std::min(low, histogram->quantile_us(0.001));
    high = std::max(high, histogram->max_us());
  }
  const Scale scale{std::pow(10, std::floor(std::log10(std::max(std::min(low, high), 0.1)))),
                    std::pow(10, std::ceil(std::log10(high) + 1e-9))};
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" font-family="sans-serif" font-size="12">
<style>
svg {{ background: #fff; }} text {{ fill: #222; }} .grid {{ stroke: #ccc; }}
@media (prefers-color-scheme: dark) {{ svg {{ background: #1b1b1b; }} text {{ fill: #ddd; }} .grid {{ stroke: #444; }} }}
</style>
)",
      kWidth, kHeight);
  out += label(kLeft, 28, "start", title);
  out += axes(scale);
  std::size_t drawn = 0;
  for (const auto& [name, histogram] : lines) {
    if (histogram->count() == 0) continue;
    const Style& style = kStyles[drawn % kStyles.size()];
    const double top = kTop + 20 * static_cast<double>(drawn++) + 10;
    const double left = kLeft + kPlotWidth + 16;
    out += line(*histogram, scale, style);
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\""
        " stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
        left, top, left + 28, top, style.color, style.dash);
    out += label(left + 36, top + 4, "start", name);
  }
  return out + "</svg>\n";
}

}  // namespace headroom
