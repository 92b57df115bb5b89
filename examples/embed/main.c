/*
 * Three pods on two nodes, in C.
 *
 *   cc main.c $(pkg-config --cflags --libs headroom) -o embed_c && ./embed_c
 */
#include <headroom.h>
#include <stdio.h>

int main(void) {
  headroom_engine *engine;
  if (headroom_engine_create(NULL, NULL, &engine, NULL, 0) != HEADROOM_OK) return 1;

  const headroom_amount cores[] = {{"cpu", 4000}, {"memory", 16ll << 30}, {"pods", 110}};
  const headroom_amount asks[] = {{"cpu", 1500}, {"memory", 2ll << 30}};
  const headroom_node nodes[] = {{.name = "n1", .allocatable = cores, .allocatable_count = 3},
                                 {.name = "n2", .allocatable = cores, .allocatable_count = 3}};
  const headroom_pod pods[] = {{.name = "web-1", .requests = asks, .request_count = 2},
                               {.name = "web-2", .requests = asks, .request_count = 2},
                               {.name = "web-3", .requests = asks, .request_count = 2}};
  headroom_placement placed[3];
  if (headroom_apply_node(engine, &nodes[0]) || headroom_apply_node(engine, &nodes[1]) ||
      headroom_place(engine, pods, 3, 0, placed)) {
    fprintf(stderr, "%s\n", headroom_engine_error(engine));
    return 1;
  }
  for (int p = 0; p < 3; ++p) {
    printf("%s %s\n", pods[p].name, headroom_node_name(engine, placed[p].node));
  }
  headroom_engine_destroy(engine);
}
