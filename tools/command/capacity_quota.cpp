// Reads the command line of `headroom capacity-quota`, asks, and prints the answers.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/text/printable.h"
#include "tools/capacity_quota/changes.h"
#include "tools/capacity_quota/input.h"
#include "tools/capacity_quota/json.h"
#include "tools/capacity_quota/report.h"
#include "tools/command/command_line.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/text_output.h"

namespace headroom {
namespace {

// Numbers beyond int64 are read as the greatest of them.
constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max() - 1;

struct CapacityQuotaCommandOptions {
  CapacityQuotaInputOptions input;
  CapacityQuotaChangeOptions changes;
  std::int64_t count = 1;
  std::optional<std::int64_t> count_each;
  std::vector<std::string> add, remove;
  bool json = false;
};

struct Answer {
  std::string text;
  int exit_code = kExitSuccess;
};
using Command = Result<Answer> (*)(const CapacityQuotaCommandOptions&, CapacityQuotaInput&,
                                   const AmountText&);

// Of the terminal that standard output is; 0: it is none.
std::size_t terminal_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

Result<Answer> table(const CapacityQuotaCommandOptions& options, CapacityQuotaInput& input,
                     const AmountText& amounts) {
  std::vector<CapacityQuotaLine> lines;
  for (CapacityQuotaStatus& status : input.quotas.status()) {
    const Result<const CapacityQuotaUpsert*> spec = input.spec_named(status.id, "");
    if (!spec) return tl::unexpected(spec.error());
    lines.push_back({std::move(status), (*spec)->quota.selector});
  }
  return Answer{options.json ? capacity_quota_table_json(lines, input.warnings)
                             : capacity_quota_table_text(amounts, lines, terminal_columns())};
}

Result<Answer> check(const CapacityQuotaCommandOptions& options, CapacityQuotaInput& input,
                     const AmountText& amounts) {
  if (input.templates.empty()) {
    return fail(ErrorCode::kInvalid, "no template: give --template FILE or --like NODE");
  }
  std::vector<CheckedTemplate> checks;
  bool all = true;
  for (const Node& node : input.templates) {
    Result<CapacityCheck> answer = input.quotas.check(node, options.count);
    if (!answer) return tl::unexpected(answer.error());
    all = all && answer->allowed == options.count;
    checks.push_back({node, options.count, std::move(*answer)});
  }
  return Answer{options.json ? check_json(checks, input.warnings) : check_text(amounts, checks),
                all ? kExitSuccess : kExitFailures};
}

Result<Answer> plan(const CapacityQuotaCommandOptions& options, CapacityQuotaInput& input,
                    const AmountText& amounts) {
  if (options.add.empty() && options.remove.empty()) {
    return fail(ErrorCode::kInvalid, "no plan: give --add NAME=COUNT, --remove NODE or both");
  }
  const Result<std::vector<NodesLike>> nodes = input.counted("--add", options.add);
  if (!nodes) return tl::unexpected(nodes.error());
  Plan asked;
  for (const NodesLike& of : *nodes) asked.add.push_back({&of.node, of.count});
  for (const std::string& name : options.remove) {
    if (const auto known = input.node_named(name, "--remove"); !known) {
      return tl::unexpected(known.error());
    }
  }
  asked.remove = options.remove;
  const Result<PlanAnswer> answer = input.quotas.plan(asked);
  if (!answer) return tl::unexpected(answer.error());
  return Answer{options.json ? plan_json(asked.add, *answer, input.warnings)
                             : plan_text(amounts, asked.add, asked.remove, *answer),
                answer->net_break || answer->peak_break ? kExitFailures : kExitSuccess};
}

Result<Answer> headroom_of(const CapacityQuotaCommandOptions& options, CapacityQuotaInput& input,
                           const AmountText& amounts) {
  const std::vector<Node> templates = input.templates_or_kinds();
  const Result<std::vector<TemplateHeadroom>> answers = input.quotas.headroom(templates);
  if (!answers) return tl::unexpected(answers.error());
  return Answer{options.json ? headroom_json(templates, *answers, input.warnings)
                             : headroom_text(amounts, templates, *answers)};
}

Result<Answer> most(const CapacityQuotaCommandOptions& options, CapacityQuotaInput& input,
                    const AmountText& /*amounts*/) {
  const std::vector<Node> templates = input.templates_or_kinds();
  std::vector<PlanItem> items;
  const std::int64_t each = options.count_each.value_or(kCapacityQuotaNodesMax);
  for (const Node& node : templates) items.push_back({&node, each});
  const Result<MaxTotal> answer = input.quotas.max_total(items);
  if (!answer) return tl::unexpected(answer.error());
  return Answer{options.json ? most_json(templates, *answer, input.warnings)
                             : most_text(templates, *answer)};
}

Result<Answer> what_if(const CapacityQuotaCommandOptions& options, CapacityQuotaInput& input,
                       const AmountText& amounts) {
  if (options.changes.empty()) {
    return fail(ErrorCode::kInvalid,
                "no change: give --set, --quota, --remove-quota, --label or several of them");
  }
  const Result<std::vector<CapacityQuotaChange>> changes =
      read_capacity_quota_changes(options.changes, input);
  if (!changes) return tl::unexpected(changes.error());
  const Result<WhatIf> answer = input.quotas.what_if(*changes, input.templates);
  if (!answer) return tl::unexpected(answer.error());
  const bool harm =
      std::any_of(answer->rows.begin(), answer->rows.end(),
                  [](const WhatIf::Row& row) { return row.newly_over; }) ||
      std::any_of(answer->templates.begin(), answer->templates.end(),
                  [](const WhatIf::Template& changed) { return changed.newly_blocked(); });
  return Answer{
      options.json ? what_if_json(*answer, input.warnings) : what_if_text(amounts, *answer),
      harm ? kExitFailures : kExitSuccess};
}

Result<Answer> lint_capacity_quotas(const CapacityQuotaCommandOptions& options,
                                    CapacityQuotaInput& input, const AmountText& /*amounts*/) {
  const std::vector<LintFinding> findings =
      lint(input.specs, input.nodes, input.templates, input.options);
  return Answer{
      options.json ? lint_json(findings, input.warnings) : lint_text(findings, input.specs.size()),
      findings.empty() ? kExitSuccess : kExitFailures};
}

int run(const CapacityQuotaCommandOptions& options, const std::string& name, Command command) {
  const auto failed = [&](const Error& error) {
    print_error(name, error.message);
    return kExitBadInput;
  };
  Result<CapacityQuotaInput> input = read_capacity_quota_input(options.input);
  if (!input) return failed(input.error());
  Result<Answer> answer = command(options, *input, AmountText(input->options.aliases));
  if (!answer) return failed(answer.error());
  Result<TextOutput> output = TextOutput::open("-");
  output->text() = options.json ? std::move(answer->text) : printable(answer->text);
  if (Result<void> closed = output->close(); !closed) return failed(closed.error());
  return answer->exit_code;
}

// A list of which each option takes one value, so that it may be given several times.
CLI::Option* add_each(CLI::App& command, const char* name, std::vector<std::string>& values,
                      const char* type, const char* help) {
  return command.add_option(name, values, help)->type_name(type)->expected(1)->take_all();
}

// What every command reads.
void add_input_options(CLI::App& command, CapacityQuotaCommandOptions& options) {
  CapacityQuotaInputOptions& input = options.input;
  command
      .add_option("--cluster", input.cluster_files,
                  "Nodes and CapacityQuotas: files that kubectl get -o json or yaml printed; - is "
                  "stdin")
      ->type_name("FILE");
  add_each(command, "--cluster-limit", input.cluster_limits, "RESOURCE=QUANTITY,...",
           "A limit on the nodes of the whole cluster, beside the quotas");
  add_number(command, "--max-nodes", input.max_nodes, 0, kCountMax,
             "The most nodes that the cluster may have");
  add_each(command, "--group-limit", input.group_limits, "KEY=VALUE:RESOURCE=QUANTITY,...",
           "A limit on the nodes with a label");
  command.add_flag("--ignore-deleting", input.ignore_deleting,
                   "Nodes marked for deletion do not count");
  add_each(command, "--alias", input.aliases, "NAME=RESOURCE",
           "Limits of NAME count what nodes have of RESOURCE");
  add_each(command, "--reserve", input.reserve, "NAME=COUNT",
           "Nodes that are on their way: as many like this node or template");
  command.add_flag("--json", options.json, "Print JSON, with exact amounts");
}

void add_template_options(CLI::App& command, CapacityQuotaCommandOptions& options) {
  add_each(command, "--template", options.input.template_files, "FILE",
           "Nodes as they would be created: labels and status.capacity");
  add_each(command, "--like", options.input.like, "NODE",
           "More nodes like this one: its labels, less the host's name, and capacity");
}

// What is asked of the templates that stand at the end of --help.
constexpr const char* kTemplatesFooter =
    "Without --template and --like: one template for every kind of node that is there.\n";

}  // namespace

void add_capacity_quota_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CapacityQuotaCommandOptions>();
  CLI::App* quota =
      app.add_subcommand("capacity-quota",
                         "Say what CapacityQuotas allow, what stops the cluster's growth, "
                         "and what a change would do");
  quota->require_subcommand(0, 1);
  add_input_options(*quota, *options);
  quota->footer(R"(
Without a command: a table of all limits, with what is used and left of each.

Examples:
  kubectl get nodes,capacityquotas -o json > cluster.json
  headroom capacity-quota --cluster cluster.json
  headroom capacity-quota headroom --cluster cluster.json
  headroom capacity-quota check --cluster cluster.json --like node-7 --count 5
  headroom capacity-quota what-if --cluster cluster.json --set team-a.cpu=64
  headroom capacity-quota lint --cluster cluster.json quotas.yaml

Used is status.capacity of the nodes that a quota selects. cpu is in cores; --json has exact
amounts, cpu in thousandths.
Exit codes: 0 the answer is yes, 1 it is no (check, plan), or there is something to look at
(what-if, lint), 2 the command line, a file or an object cannot be used.)");
  quota->callback([options, quota, &exit_code] {
    if (quota->get_subcommands().empty()) exit_code = run(*options, "capacity-quota", table);
  });

  const auto add = [&](const char* name, const char* help, Command asked) {
    CLI::App* command = quota->add_subcommand(name, help);
    add_input_options(*command, *options);
    command->callback([options, name, asked, &exit_code] {
      exit_code = run(*options, std::string("capacity-quota ") + name, asked);
    });
    return command;
  };

  CLI::App* check_command =
      add("check", "May so many nodes be added, and if not, what stands in the way", check);
  add_template_options(*check_command, *options);
  add_number(*check_command, "--count", options->count, 1, kCountMax, "How many of each template");
  check_command->footer(R"(
Each template is checked for itself. The limits that bind are those that allow no more than what is
allowed; below the table is what to raise.
Exit codes: 0 all are allowed, 1 not all, 2 bad input.)");

  CLI::App* plan_command = add("plan", "Whether some nodes may be added and others removed", plan);
  add_template_options(*plan_command, *options);
  add_each(*plan_command, "--add", options->add, "NAME=COUNT",
           "Add so many nodes like this template or node; in the order given");
  plan_command->add_option("--remove", options->remove, "Remove these nodes")->type_name("NODE");
  plan_command->footer(R"(
Says whether the plan fits when the nodes are removed before others are added, and when they are
removed last. What fits then overshoots in no order.

Example:
  headroom capacity-quota plan --cluster cluster.json --template big.yaml --add big=2 \
    --remove node-1 node-2
Exit codes: 0 it fits in any order, 1 not in any, 2 bad input.)");

  CLI::App* headroom_command =
      add("headroom", "How many more of each template, and what is then left over", headroom_of);
  add_template_options(*headroom_command, *options);
  headroom_command->footer(kTemplatesFooter);

  CLI::App* most_command =
      add("most", "The most nodes of several templates together, under shared quotas", most);
  add_template_options(*most_command, *options);
  add_number(*most_command, "--count", options->count_each, 0, kCountMax,
             "At most so many of each template");
  most_command->footer(kTemplatesFooter);

  CLI::App* what_if_command = add("what-if", "What a change of quotas or labels would do", what_if);
  add_template_options(*what_if_command, *options);
  add_each(*what_if_command, "--set", options->changes.set, "QUOTA.RESOURCE=QUANTITY",
           "Another limit, or one more");
  add_each(*what_if_command, "--quota", options->changes.quota_files, "FILE",
           "CapacityQuotas, changed or new");
  add_each(*what_if_command, "--remove-quota", options->changes.remove_capacity_quota, "QUOTA",
           "Without this quota");
  add_each(*what_if_command, "--label", options->changes.labels, "NODE:KEY=VALUE",
           "Another label of a node; NODE:KEY- takes it away");
  what_if_command->footer(std::string(kTemplatesFooter) +
                          R"(All changes together, before and after.
Exit codes: 0 nothing gets worse, 1 a limit is newly exceeded or nodes are newly blocked, 2 bad
input.)");

  CLI::App* lint_command =
      add("lint", "Quotas that cannot do what their author meant", lint_capacity_quotas);
  add_template_options(*lint_command, *options);
  lint_command->footer(R"(
Findings: InvalidSpec, NoLimits, ContradictorySelector, SelectsNothing, UnknownLabelKey and
UnknownLabelValue (no template has it), Dominated (another quota always binds first), NeverFits (the
smallest template exceeds the limit alone). Without templates the nodes stand for them.
Exit codes: 0 no findings, 1 findings, 2 bad input.)");
}

}  // namespace headroom
