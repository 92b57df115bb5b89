# Profiles (what users configure, and every way to get it wrong), and the commands that show what a
# profile decides: conformance and explain.
headroom_add_test(profile_reader_test SOURCES profile_reader_test.cpp
  LIBRARIES headroom::engine nlohmann_json::nlohmann_json)
headroom_add_test(conformance_test SOURCES conformance_test.cpp LIBRARIES headroom_commands)
headroom_add_test(explain_report_test SOURCES explain_report_test.cpp LIBRARIES headroom_commands)
