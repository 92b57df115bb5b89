# The kernels on every instruction set, how one is chosen, and the engine's small parts: the node
# table, histograms, node classes, annotations.
headroom_add_test(kernels_test SOURCES kernels_test.cpp LIBRARIES headroom::kernels
  LABELS engine)
