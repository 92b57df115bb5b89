# Quantities, pod resources, hashes, times, the readers of objects and of YAML. See also fuzz/.
headroom_add_test(objects_test BUSY
  SOURCES objects/all_or_none_test.cpp objects/assert_test.cpp objects/hash_test.cpp
    objects/object_reader_test.cpp objects/pod_placement_test.cpp objects/pod_resources_test.cpp
    objects/quantity_test.cpp objects/referred_object_test.cpp objects/text/time_text_test.cpp
    objects/yaml_test.cpp support/colliding_names.cpp
  LIBRARIES headroom::objects nlohmann_json::nlohmann_json LABELS objects)
headroom_compile_together(objects_test 10)
add_subdirectory(fuzz)
