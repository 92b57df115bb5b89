// Connects to a socket that is not there, with nothing but the installed client.
#include <iostream>

#include "client/client.h"

int main(int, char** arguments) {
  headroom::Endpoint endpoint;
  endpoint.path = std::string(arguments[0]) + ".sock";
  const auto client = headroom::Client::connect(endpoint);
  if (client) return 1;
  std::cout << to_string(client.error().code) << '\n';
}
