# Simulations, their autoscaler, their reports. See also report_browser_test.py.
headroom_add_test(simulation_test LONG
  SOURCES simulation/cluster_autoscaler_test.cpp simulation/report_test.cpp simulation/residents_test.cpp
    simulation/simulation_test.cpp simulation/left_out_test.cpp simulation/simulated_quotas_test.cpp
    simulation/simulation_parts_test.cpp simulation/table_test.cpp simulation/text_test.cpp
    simulation/waiting_pods_test.cpp
  LIBRARIES headroom_commands)
headroom_compile_together(simulation_test 7)
