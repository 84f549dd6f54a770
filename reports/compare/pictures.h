// The pictures of a comparison, each with the numbers that it shows as a table: for readers who do not see it, and in its place
// where there is no plotter.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/plotter.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {

struct PictureTable {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;  // the first cell names the row
};

struct Picture {
    std::string title;
    std::string caption;                // what is drawn and how to read it
    std::string script;                 // of gnuplot
    std::string svg;                    // an element of a page; empty where it could not be drawn
    std::vector<std::size_t> variants;  // that it shows
    std::vector<std::string> faults;    // kinds of faults that it shows as bands, in the order of their colours
    PictureTable table;
};

/// As many variants as can be told apart in one picture.
inline constexpr std::size_t kVariantsDrawnMax = 8;

/// The first variant, the recommended one, the Pareto front, then the others: at most kVariantsDrawnMax.
[[nodiscard]] std::vector<std::size_t> drawn_variants(const Comparison& comparison, const Analysis& analysis);

/// One line of a picture.
struct PictureLine {
    std::size_t variant = 0;
    std::vector<std::pair<double, double>> points;
};
struct PictureAxes {
    std::string across;
    std::string measure;  // what is drawn upwards
    std::string unit;
    double most = 0;  // the largest value upwards
};
/// Gives `picture` its script and variants: lines with a mark at each point, in the colours of `drawn`, over whole numbers.
void draw_lines(Picture& picture, const std::vector<PictureLine>& lines, const std::vector<std::size_t>& drawn,
                const PictureAxes& axes);

/// Distributions, retry histogram, courses, Pareto front: what the comparison has data for, not drawn yet.
[[nodiscard]] std::vector<Picture> pictures_of(const Comparison& comparison, const Analysis& analysis);

/// Draws them. Returns why some could not be drawn; empty = all were.
[[nodiscard]] std::string draw(std::vector<Picture>& pictures, const PlotterOptions& options = {});

/// The mean of the first objective for each pair of settings of a grid of two axes; rows are the second axis.
struct HeatMap {
    struct Cell {
        std::string text;
        int shade = -1;  // 0 (worst) to 6 (best); -1 = no such variant, or none of its runs has the measure
        bool taken = false;
    };
    std::string measure;
    std::string across;
    std::string down;
    std::vector<std::string> columns;
    std::vector<std::string> names;
    std::vector<std::vector<Cell>> rows;
};

/// Empty (no rows) unless the comparison is a grid of two axes and has an objective.
[[nodiscard]] HeatMap heat_map_of(const Comparison& comparison, const Analysis& analysis);

}  // namespace lockstep::reports
