// Quantiles of Student's t by the search of DCDFLIB: a series for the first guess, steps outwards
// until the root is enclosed, then the Bus–Dekker "algorithm R" down to a relative width of 1e-8.
// Published tables (SciPy's among them) stop there, so the last digits are part of the convention;
// a full-precision inverse would differ from them in the eighth digit.
#include <algorithm>
#include <cmath>

#include "runner/statistics/statistics.h"

namespace steady {

namespace {

constexpr double kRelativeTolerance = 1e-8, kAbsoluteTolerance = 1e-50;
constexpr double kFarthest = 1e100;
constexpr double kFirstStep = 0.5, kStepGrowth = 5;

// Expansion around the normal quantile in powers of 1/df.
double first_guess(double p, double df) {
    static constexpr double kCoefficients[4][5] = {
        {1, 1, 0, 0, 0}, {3, 16, 5, 0, 0}, {-15, 17, 19, 3, 0}, {-945, -1920, 1482, 776, 79}};
    static constexpr double kDenominators[4] = {4, 96, 384, 92160};
    const double x = std::abs(normal_quantile(p));
    double sum = x, power = 1;
    for (int i = 0; i < 4; ++i) {
        double term = 0;
        for (int j = 4; j >= 0; --j) term = term * x * x + kCoefficients[i][j];
        power *= df;
        sum += term * x / (power * kDenominators[i]);
    }
    return p >= 0.5 ? sum : -sum;
}

// The function whose root is wanted, from the smaller of the two tails.
struct TailExcess {
    double p, df;
    double operator()(double t) const {
        return p <= 1 - p ? t_cdf(t, df) - p : t_cdf(-t, df) - (1 - p);
    }
};

struct Bracket {
    double low, high;
};

// Walks from the guess towards the root in growing steps. `rising`: f increases with t.
Bracket enclose(const TailExcess& f, double guess, bool rising) {
    double step = std::max(kFirstStep, kFirstStep * std::abs(guess));
    const bool upwards = (f(guess) < 0) == rising;
    double near = guess;
    while (true) {
        const double far =
            upwards ? std::min(near + step, kFarthest) : std::max(near - step, -kFarthest);
        const double value = f(far);
        const bool enclosed = (upwards == rising) ? value >= 0 : value <= 0;
        if (enclosed || std::abs(far) >= kFarthest)
            return upwards ? Bracket{near, far} : Bracket{far, near};
        step *= kStepGrowth;
        near = far;
    }
}

double tolerance_at(double x) {
    return 0.5 * std::max(kAbsoluteTolerance, kRelativeTolerance * std::abs(x));
}

// Secant and hyperbolic interpolation with bisection as the safeguard. b is the best point, c
// lies on the other side of the root, a and d are earlier points.
double narrow(const TailExcess& f, Bracket bracket) {
    double b = bracket.low, fb = f(b);
    double a = bracket.high, fa = f(a);
    double c = a, fc = fa, d = a, fd = fa;
    int n_interpolations = 0;
    bool secant = true;  // the very first step
    while (true) {
        if (std::abs(fc) < std::abs(fb)) {
            if (c != a) d = a, fd = fa;
            a = b, fa = fb;
            b = c, fb = fc;
            c = a, fc = fa;
        }
        const double half = (c + b) * 0.5 - b;
        if (!(std::abs(half) > tolerance_at(b))) return b;
        double width = half;
        if (n_interpolations <= 3) {
            const double tolerance = std::copysign(tolerance_at(b), half);
            double p = (b - a) * fb, q = fa - fb;
            if (!secant) {
                const double fdb = (fd - fb) / (d - b), fda = (fd - fa) / (d - a);
                p *= fda;
                q = fdb * fa - fda * fb;
            }
            secant = false;
            if (p < 0) p = -p, q = -q;
            if (n_interpolations == 3) p *= 2;
            if (p == 0 || p <= q * tolerance)
                width = tolerance;
            else if (p < half * q)
                width = p / q;
        }
        d = a, fd = fa;
        a = b, fa = fb;
        b += width;
        fb = f(b);
        if (fc * fb >= 0) {
            c = a, fc = fa;
            n_interpolations = 0;
        } else {
            n_interpolations = width == half ? 0 : n_interpolations + 1;
        }
    }
}

}  // namespace

double t_quantile(double p, double df) {
    if (!(p >= 0 && p <= 1) || !(df > 0)) return kUndefined;
    if (p == 0 || p == 1) return (p == 0 ? -1 : 1) * std::numeric_limits<double>::infinity();
    const TailExcess f{p, df};
    const double guess = first_guess(p, df);
    if (f(guess) == 0) return guess;
    return narrow(f, enclose(f, guess, p <= 1 - p));
}

}  // namespace steady
