// Pods that wait, found by key and by uid: every transition of one pod, and uids that two claim.
#include "server/service/pending_pods.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom::pending_pods_test {
namespace {

Pod pod_of(const std::string& name, const std::string& uid) {
  Pod pod;
  pod.namespace_name = "team";
  pod.name = name;
  pod.uid = uid;
  return pod;
}

// "p A": put p with uid A; "p -": remove p. Afterwards: what p, q, and the uids A, B find.
struct Step {
  std::string pod, uid;
  std::string p, q, a, b;
};

std::string found(const Pod* pod) { return pod == nullptr ? "-" : pod->name + " " + pod->uid; }

TEST(PendingPods, EveryTransition) {
  // Short uids, which lie within the string, and long ones.
  const std::string a(12, 'a'), b(36, 'b');
  const std::string pa = "p " + a, pb = "p " + b, qa = "q " + a, qb = "q " + b;
  const std::vector<std::vector<Step>> stories = {
      // Put, put again, removed, removed again.
      {{"p", a, pa, "-", pa, "-"},
       {"p", a, pa, "-", pa, "-"},
       {"p", "-", "-", "-", "-", "-"},
       {"p", "-", "-", "-", "-", "-"}},
      // Another pod has the name, and the first one again.
      {{"p", a, pa, "-", pa, "-"},
       {"p", b, pb, "-", "-", pb},
       {"p", a, pa, "-", pa, "-"},
       {"p", "-", "-", "-", "-", "-"}},
      // Two pods.
      {{"p", a, pa, "-", pa, "-"},
       {"q", b, pa, qb, pa, qb},
       {"p", "-", "-", qb, "-", qb},
       {"q", "-", "-", "-", "-", "-"}},
      // Two claim one uid: it is the later one's, and stays so when the first one goes.
      {{"p", a, pa, "-", pa, "-"}, {"q", a, pa, qa, qa, "-"}, {"p", "-", "-", qa, qa, "-"}},
      {{"p", a, pa, "-", pa, "-"}, {"q", a, pa, qa, qa, "-"}, {"p", b, pb, qa, qa, pb}},
      // The later one goes, or has another uid: nobody is found until one is put again.
      {{"p", a, pa, "-", pa, "-"},
       {"q", a, pa, qa, qa, "-"},
       {"q", "-", pa, "-", "-", "-"},
       {"p", a, pa, "-", pa, "-"}},
      {{"p", a, pa, "-", pa, "-"}, {"q", a, pa, qa, qa, "-"}, {"q", b, pa, qb, "-", qb}},
  };
  for (std::size_t story = 0; story < stories.size(); ++story) {
    PendingPods pods;
    for (std::size_t s = 0; s < stories[story].size(); ++s) {
      SCOPED_TRACE(testing::Message() << "story " << story << ", step " << s);
      const Step& step = stories[story][s];
      if (step.uid == "-") {
        pods.remove("team/" + step.pod);
      } else {
        pods.put("team/" + step.pod, pod_of(step.pod, step.uid));
      }
      EXPECT_EQ(found(pods.of_key("team/p")), step.p);
      EXPECT_EQ(found(pods.of_key("team/q")), step.q);
      EXPECT_EQ(found(pods.of_uid(a)), step.a);
      EXPECT_EQ(found(pods.of_uid(b)), step.b);
      EXPECT_EQ(pods.size(), (step.p != "-") + (step.q != "-"));
      EXPECT_TRUE(pods.validate());
    }
  }
}

TEST(PendingPods, KeepNothingOfThePodThatWasGiven) {
  PendingPods pods;
  {
    const Pod given = pod_of("p", std::string(36, 'a'));
    pods.put("team/p", given);
  }
  EXPECT_EQ(pods.of_uid(std::string(36, 'a'))->name, "p");
}

}  // namespace
}  // namespace headroom::pending_pods_test
