// hup: a file that is one comma, as the profile at a SIGHUP and at the start, and as the
// configuration. Reading it never ended and took all memory.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/support/daemon_harness.h"

namespace headroom {
namespace {

constexpr const char* kProfile =
    "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\nmode: Proposal\n";

// As the attack does it, so that a reader that fills the memory ends here and not the machine.
constexpr const char* kMemoryCeiling = "ulimit -v 4000000";

TEST(Hup, AProfileThatNeverEndedIsRefused) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("hup"));
  const std::string profile = directory.path() + "/profile.yaml";
  write_file(profile, kProfile);
#ifdef HEADROOM_SANITIZED
  const std::string shell;  // Its shadow needs more.
#else
  const std::string shell = kMemoryCeiling;
#endif
  TestDaemon daemon({.arguments = {"--profile", profile}, .shell = shell});
  daemon.feed({small_node("n1")});
  Bystander bystander(daemon);
  std::size_t refused = 0;
  // One comma; anchors that repeat each other; brackets that nothing closes.
  std::string laughs = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i);
    laughs += " [" + before + ", " + before + "]\n";
  }
  for (const std::string& text : {std::string(","), laughs, std::string(1 << 20, '[')}) {
    write_file(profile, text);
    daemon.process().signal(SIGHUP);
    ++refused;
    EXPECT_TRUE(eventually([&] {
      const std::string log = daemon.log(), said = "reload failed, the old one stays";
      std::size_t count = 0;
      for (std::size_t at = log.find(said); at != std::string::npos; at = log.find(said, at + 1)) {
        ++count;
      }
      return count == refused;
    })) << text.substr(0, 100)
        << daemon.log();
  }
  EXPECT_TRUE(daemon.running());
  EXPECT_EQ(bystander.noticed(), "");
}

TEST(Hup, AFileThatNeverEndedIsRefusedAtTheStart) {
  const TemporaryDirectory directory = must(TemporaryDirectory::make("hup"));
  const std::string file = directory.path() + "/file.yaml";
  write_file(file, ",");
  for (const std::string option : {"--config", "--profile"}) {
    const Ended ended = run_headroomd({option, file});
    EXPECT_GT(ended.exit_code, 0) << option << ended.output;  // Not by a signal.
    EXPECT_NE(ended.output.find("no value starts here"), std::string::npos) << ended.output;
  }
}

}  // namespace
}  // namespace headroom
