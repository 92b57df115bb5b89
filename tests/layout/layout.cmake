# How values lie in memory: the index of names.
headroom_add_test(layout_test SOURCES layout/name_index_test.cpp LIBRARIES headroom::layout)
