# Tests of objects/: quantities, pod resources, the object reader. See also fuzz/.
headroom_add_test(quantity_test SOURCES quantity_test.cpp
  LIBRARIES headroom::objects nlohmann_json::nlohmann_json)
headroom_add_test(pod_resources_test SOURCES pod_resources_test.cpp
  LIBRARIES headroom::objects nlohmann_json::nlohmann_json)
headroom_add_test(object_reader_test SOURCES object_reader_test.cpp
  LIBRARIES headroom::objects nlohmann_json::nlohmann_json)
headroom_add_test(hash_test SOURCES hash_test.cpp colliding_names.cpp LIBRARIES headroom::objects)
headroom_add_test(yaml_test SOURCES yaml_test.cpp LIBRARIES headroom::objects)
add_subdirectory(fuzz)
