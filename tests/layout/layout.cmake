# How values lie in memory: the index of names, free numbers, the last changes, arrays of zeros, the size of pages.
headroom_add_test(layout_test
  SOURCES layout/free_numbers_test.cpp layout/name_index_test.cpp layout/recent_changes_test.cpp
    layout/small_pages_test.cpp layout/zeroed_test.cpp
  LIBRARIES headroom::layout)
headroom_compile_together(layout_test 5)
