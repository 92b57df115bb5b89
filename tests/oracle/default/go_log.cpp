// See go_log.h. The method is fdlibm's: x = 2^k * (1 + f), and log(1 + f) by a polynomial in
// s = f / (2 + f), as its documentation describes it.
#include "oracle/default/go_log.h"

#include <cmath>

namespace oracle::defaults {

double go_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kOdd[] = {6.666666666666735130e-01, 2.857142874366239149e-01,
                             1.818357216161805012e-01, 1.479819860511658591e-01};
  constexpr double kEven[] = {3.999999999940941908e-01, 2.222219843214978396e-01,
                              1.531383769920937332e-01};
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < std::sqrt(2.0) / 2) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1, k = exponent;
  const double s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
  const double odd = s2 * (kOdd[0] + s4 * (kOdd[1] + s4 * (kOdd[2] + s4 * kOdd[3])));
  const double even = s4 * (kEven[0] + s4 * (kEven[1] + s4 * kEven[2]));
  const double rest = odd + even, half = 0.5 * f * f;
  return k * kLn2High - ((half - (s * (half + rest) + k * kLn2Low)) - f);
}

}  // namespace oracle::defaults
