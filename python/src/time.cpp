#include "python/src/time.h"

#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {

std::int64_t time_us(nb::handle time, const char* name) {
  if (nb::isinstance<nb::int_>(time)) {
    std::int64_t us = 0;
    if (!nb::try_cast(time, us)) {
      throw nb::value_error((std::string(name) + ": beyond 64 bits of microseconds").c_str());
    }
    return us;
  }
  if (!nb::hasattr(time, "timestamp")) {
    throw nb::type_error(
        (std::string(name) + ": give microseconds since 1970 or a datetime.datetime").c_str());
  }
  if (time.attr("tzinfo").is_none()) {
    throw nb::value_error(
        (std::string(name) + ": a datetime without tzinfo: give one, such as timezone.utc")
            .c_str());
  }
  const nb::object datetime = nb::module_::import_("datetime");
  const nb::object epoch =
      datetime.attr("datetime").attr("fromtimestamp")(0, datetime.attr("timezone").attr("utc"));
  const nb::object step = datetime.attr("timedelta")("microseconds"_a = 1);
  return nb::cast<std::int64_t>((time - epoch).attr("__floordiv__")(step));
}

}  // namespace headroom::python
