// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/mlq/curve_plot.hpp"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

namespace mlq::cli {
namespace {

// gnuplot's single-quoted string: no escapes but the doubled quote.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (std::iscntrl(static_cast<unsigned char>(c))) continue;
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string terminal(const std::string& png) {
  if (!png.empty()) return "set terminal png size 1000,600\nset output " + in_quotes(png) + "\n";
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  const int columns = known ? std::clamp<int>(size.ws_col - 1, 40, 200) : 79;
  const int lines = known ? std::clamp<int>(size.ws_row - 2, 15, 60) : 24;
  return "set terminal dumb " + std::to_string(columns) + " " + std::to_string(lines) + "\n";
}

std::string script(const std::string& title, const std::vector<CurveRow>& rows,
                   const std::vector<PlotFuture>& futures, const std::string& png) {
  const bool ascii = png.empty();
  std::string out = terminal(png) + "set title " + in_quotes(title) +
                    " noenhanced\nset xlabel 'step'\nset ylabel 'loss'\n" +
                    "set style fill transparent solid 0.25 noborder\nset key top right\n$points << EOD\n";
  for (const CurveRow& row : rows)
    if (std::isfinite(row.step) && std::isfinite(row.loss))
      out += number(row.step) + " " + number(row.loss) + "\n";
  out += "EOD\n$futures << EOD\n";
  for (const PlotFuture& future : futures) {
    for (const PlotPoint& p : future)
      out +=
          number(p.step) + " " + number(p.predicted) + " " + number(p.lower) + " " + number(p.upper) + "\n";
    out += "\n\n";
  }
  out += "EOD\nplot ";
  if (!ascii) out += "$futures using 1:3:4 with filledcurves lc rgb '#e08040' title '80 % interval', ";
  out += ascii ? "$points using 1:2 with points pt '.' title 'reported (.)', "
                 "$futures using 1:2 with points pt '*' title 'predicted (*)', "
                 "$futures using 1:3 with points pt '-' title '80 % interval (-)', "
                 "$futures using 1:4 with points pt '-' notitle\n"
               : "$points using 1:2 with points pt 7 ps 0.4 lc rgb '#4060a0' title 'reported', "
                 "$futures using 1:2 with lines lw 2 lc rgb '#c04000' title 'predicted'\n";
  return out;
}

}  // namespace

std::string plot_curve(const std::string& title, const std::vector<CurveRow>& rows,
                       const std::vector<PlotFuture>& futures, const std::string& png) {
  if (!png.empty() && !std::ofstream(png, std::ios::app))
    return png + " cannot be written: " + std::strerror(errno);
  std::signal(SIGPIPE, SIG_IGN);
  std::fflush(stdout);
  std::FILE* gnuplot = popen("exec gnuplot 2>/dev/null", "w");
  if (gnuplot == nullptr) return "gnuplot cannot be started";
  const std::string text = script(title, rows, futures, png);
  const bool written = std::fwrite(text.data(), 1, text.size(), gnuplot) == text.size();
  const int status = pclose(gnuplot);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return "gnuplot is not installed";
  if (!written || status != 0) return "gnuplot could not draw this";
  return {};
}

}  // namespace mlq::cli
