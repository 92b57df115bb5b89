// kernel_vs_read, kernel_vs_scalar: the kernels alone, over the columns of cold_profile.
#include <fmt/format.h>

#include <set>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"
#include "bench/scalar_reference.h"
#include "engine/cluster/cluster.h"
#include "kernels/exact.h"
#include "workloads/openb.h"

namespace headroom {

namespace {

// A node table, and a shape to score it for.
class KernelPass {
 public:
  explicit KernelPass(const ClusterSpec& spec) : cluster_(bench_profile()) {
    check_done(cluster_.advance(kTraceStartUs));
    for_each_object(spec, [&](const Object& object) {
      if (const auto* node = std::get_if<Node>(&object)) check_done(cluster_.upsert(*node));
      if (const auto* pod = std::get_if<Pod>(&object)) check_done(cluster_.upsert(*pod));
      if (const auto* metric = std::get_if<NodeMetric>(&object)) {
        check_done(cluster_.upsert(*metric));
      }
    });
    shape_ = value_of(cluster_.shapes().for_decision(pending_pod(0)));
    cluster_.prepare(*shape_);
  }

  std::uint32_t rows() const { return cluster_.table().size(); }
  Columns columns() const { return cluster_.table().columns(); }
  Program program() const { return shape_->program(); }
  std::uint32_t column_count() const { return cluster_.table().column_count(); }

  // The columns that the pass reads.
  std::set<std::uint32_t> columns_read() const {
    std::set<std::uint32_t> read;
    for (const FilterTerm& term : program().filter_terms) {
      read.insert(term.column);
    }
    for (const Score& score : program().scores) {
      for (std::uint32_t t = 0; t < score.count; ++t) {
        read.insert({score.terms[t].headroom, score.terms[t].capacity});
      }
    }
    return read;
  }
  // A float a column, and the class.
  std::size_t bytes_per_node() const {
    return columns_read().size() * sizeof(float) + sizeof(std::uint32_t);
  }

  template <typename Use>
  void run(Use use) {
    for (std::uint32_t first = 0; first < rows(); first += kBlockNodes) {
      const std::uint32_t count = std::min(kBlockNodes, rows() - first);
      kernels_.score_block(columns(), program(), first, count, scores_);
      use(first, count, scores_);
    }
  }
  double timed_run() {
    const Stopwatch watch;
    run([](std::uint32_t, std::uint32_t, const BlockScores& scores) { keep(scores.any_feasible); });
    return watch.seconds();
  }
  double timed_read() const {
    const Columns all = columns();
    const Stopwatch watch;
    std::uint64_t sum = kernels_.read_bytes(all.node_class, rows() * sizeof(std::uint32_t));
    for (const std::uint32_t column : columns_read()) {
      sum += kernels_.read_bytes(all.narrow[column], rows() * sizeof(float));
    }
    keep(sum);
    return watch.seconds();
  }

  // Every row's code and scores against exact.h; returns the feasible rows.
  std::uint32_t check_exact() {
    std::uint32_t feasible = 0;
    const Columns all = columns();
    const Program program = this->program();
    run([&](std::uint32_t first, std::uint32_t count, const BlockScores& scores) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const Truth truth = all.truth_of(first + i);
        const std::uint32_t by_class = program.class_code[all.node_class[first + i]];
        const std::uint32_t code = by_class != 0 ? by_class : exact_code(program, truth);
        check(scores.code[i] == code, fmt::format("row {}: code", first + i));
        feasible += code == 0;
        for (std::size_t s = 0; code == 0 && s < program.scores.size(); ++s) {
          check(scores.score[s][i] == exact_score(program.scores[s], truth),
                fmt::format("row {}: score {}", first + i, s));
        }
      }
    });
    return feasible;
  }

 private:
  Cluster cluster_;
  PodShape* shape_;
  const Kernels& kernels_ = *active_kernels();
  BlockScores scores_;
};

void check_same(KernelPass& pass, const ScalarScores& scalar) {
  const std::size_t score_count = pass.program().scores.size();
  pass.run([&](std::uint32_t first, std::uint32_t count, const BlockScores& scores) {
    for (std::uint32_t i = 0; i < count; ++i) {
      check(scores.code[i] == scalar.code[first + i], "scalar reference: code");
      for (std::size_t s = 0; scores.code[i] == 0 && s < score_count; ++s) {
        check(scores.score[s][i] == scalar.score[s][first + i],
              fmt::format("scalar reference: row {} score {}: {}, the kernel's {}", first + i, s,
                          scalar.score[s][first + i], scores.score[s][i]));
      }
    }
  });
}

}  // namespace

void kernel_vs_read(const BenchOptions& options, Lines& lines) {
  KernelPass pass({.nodes = options.usual(500'000), .seed = options.seed});
  const std::uint32_t feasible = pass.check_exact();
  Measurement measurement;
  const Times& kernel =
      measurement.add("kernel", options.iterations(10), [&] { return pass.timed_run(); });
  const Times& read =
      measurement.add("read", options.iterations(10), [&] { return pass.timed_read(); });
  measurement.run(options.repetitions(11));
  const double rows = pass.rows();
  const double kernel_ns = kernel.median() / rows * 1e9, read_ns = read.median() / rows * 1e9;
  const double bytes = static_cast<double>(pass.bytes_per_node());
  lines.push_back(
      {.row = "kernel_vs_read",
       .what = fmt::format("speed of the pass against a read of its {:.0f} bytes a node, "
                           "{} nodes ({:.0f} % feasible)",
                           bytes, pass.rows(), 100 * feasible / rows),
       .measured = fmt::format("{:.2f} ({:.2f} against {:.2f} ns a node; {:.1f} GB/s)",
                               read_ns / kernel_ns, kernel_ns, read_ns, bytes / kernel_ns),
       .unit = "of the read's speed",
       .value = read_ns / kernel_ns,
       .target = at_least(0.8),
       .figures = {{"kernel_ns_per_node", kernel_ns},
                   {"read_ns_per_node", read_ns},
                   {"bytes_per_node", bytes}}});
}

void kernel_vs_scalar(const BenchOptions& options, Lines& lines) {
  KernelPass pass({.nodes = options.size(50'000), .seed = options.seed});
  pass.check_exact();
  const Columns columns = pass.columns();
  std::vector<std::vector<std::int64_t>> by_row(pass.rows()), by_column(pass.column_count());
  std::vector<const std::int64_t*> row_pointers, column_pointers;
  for (std::uint32_t row = 0; row < pass.rows(); ++row) {
    for (std::uint32_t c = 0; c < pass.column_count(); ++c) {
      by_row[row].push_back(columns.truth_of(row)[c]);
      by_column[c].push_back(by_row[row].back());
    }
    row_pointers.push_back(by_row[row].data());
  }
  for (const std::vector<std::int64_t>& column : by_column) {
    column_pointers.push_back(column.data());
  }
  ScalarScores scalar;
  const auto time_rows = [&] {
    const Stopwatch watch;
    score_by_rows(row_pointers.data(), columns.node_class, pass.program(), pass.rows(), scalar);
    return watch.seconds();
  };
  const auto time_columns = [&] {
    const Stopwatch watch;
    score_by_columns(column_pointers.data(), columns.node_class, pass.program(), pass.rows(),
                     scalar);
    return watch.seconds();
  };
  time_rows();
  check_same(pass, scalar);
  time_columns();
  check_same(pass, scalar);

  Measurement measurement;
  const Times& kernel =
      measurement.add("kernel", options.iterations(50), [&] { return pass.timed_run(); });
  const Times& rows = measurement.add("scalar by rows", options.iterations(10), time_rows);
  const Times& columns_times =
      measurement.add("scalar by columns", options.iterations(10), time_columns);
  measurement.run(options.repetitions(11));
  const double kernel_ns = kernel.median() / pass.rows() * 1e9;
  const double rows_ns = rows.median() / pass.rows() * 1e9;
  const double columns_ns = columns_times.median() / pass.rows() * 1e9;
  const double scalar_ns = std::min(rows_ns, columns_ns);
  lines.push_back(
      {.row = "kernel_vs_scalar",
       .what = fmt::format("the pass against plain int64 at -O3, {} nodes", pass.rows()),
       .measured = fmt::format("{:.1f} times ({:.2f} against {:.1f} ns a node, by {})",
                               scalar_ns / kernel_ns, kernel_ns, scalar_ns,
                               rows_ns < columns_ns ? "rows" : "columns"),
       .unit = "times",
       .value = scalar_ns / kernel_ns,
       .target = at_least(by_vectors(10, 6)),
       .figures = {{"kernel_ns_per_node", kernel_ns},
                   {"scalar_by_rows_ns_per_node", rows_ns},
                   {"scalar_by_columns_ns_per_node", columns_ns}}});
}

}  // namespace headroom
