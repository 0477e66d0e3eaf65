/* Update loops of the optimizers for one element type: included by optim_step.h once with
 * REAL float and once with REAL double, which defines LOOP(adam) as adam_f32 and adam_f64.
 *
 * p[0] parameter, p[1] gradient, p[2...] state tensors; c: coefficients that the optimizer's
 * coefficient function in optim_step.h has computed for this parameter and step.
 */
#define LOOP_ARGS void *const *p, Py_ssize_t n, const double *c
#define ARRAY(i) (REAL *restrict)p[i]
/* gradient with sign and weight decay; no decay must not turn an infinite parameter into NaN */
#define GRADIENT(i) (decay != 0 ? sign * g[i] + decay * w[i] : sign * g[i])
#define COMMON REAL *restrict w = ARRAY(0); const REAL *restrict g = ARRAY(1); \
    const REAL lr = (REAL)c[C_LR], decay = (REAL)c[C_DECAY], sign = (REAL)c[C_SIGN]

static void LOOP(sgd)(LOOP_ARGS) {
    COMMON;
    for (Py_ssize_t i = 0; i < n; i++) w[i] -= lr * GRADIENT(i);
}

static void LOOP(sgd_momentum)(LOOP_ARGS) {
    COMMON;
    REAL *restrict buf = ARRAY(2);
    const REAL keep = (REAL)c[3], take = (REAL)c[4], ahead = (REAL)c[5];
    const int nesterov = c[6] != 0;
    if (nesterov) {
        for (Py_ssize_t i = 0; i < n; i++) {
            const REAL d = GRADIENT(i), b = keep * buf[i] + take * d;
            buf[i] = b;
            w[i] -= lr * (d + ahead * b);
        }
    } else {
        for (Py_ssize_t i = 0; i < n; i++) {
            const REAL b = keep * buf[i] + take * GRADIENT(i);
            buf[i] = b;
            w[i] -= lr * b;
        }
    }
}

/* c: 3 1-beta1, 4 beta2, 5 1-beta2, 6 1/sqrt(correction 2), 7 eps, 8 1 - lr * decoupled decay;
 * C_LR is lr / correction 1 */
#define ADAM_COEFFICIENTS const REAL new1 = (REAL)c[3], beta2 = (REAL)c[4], new2 = (REAL)c[5], \
    scale = (REAL)c[6], eps = (REAL)c[7], shrink = (REAL)c[8]; \
    REAL *restrict m = ARRAY(2), *restrict v = ARRAY(3)
#define MOMENTS(i) const REAL d = GRADIENT(i); m[i] += new1 * (d - m[i]); v[i] = beta2 * v[i] + new2 * d * d

static void LOOP(adam)(LOOP_ARGS) {
    COMMON;
    ADAM_COEFFICIENTS;
    for (Py_ssize_t i = 0; i < n; i++) {
        MOMENTS(i);
        w[i] = shrink * w[i] - lr * m[i] / (SQRT(v[i]) * scale + eps);
    }
}

static void LOOP(amsgrad)(LOOP_ARGS) {
    COMMON;
    ADAM_COEFFICIENTS;
    REAL *restrict most = ARRAY(4);
    for (Py_ssize_t i = 0; i < n; i++) {
        MOMENTS(i);
        /* the larger one, and NaN if either is */
        const REAL top = v[i] > most[i] || v[i] != v[i] ? v[i] : most[i];
        most[i] = top;
        w[i] = shrink * w[i] - lr * m[i] / (SQRT(top) * scale + eps);
    }
}

/* c: 9 factor of the gradient, C_LR that of m */
static void LOOP(nadam)(LOOP_ARGS) {
    COMMON;
    ADAM_COEFFICIENTS;
    const REAL direct = (REAL)c[9];
    for (Py_ssize_t i = 0; i < n; i++) {
        MOMENTS(i);
        w[i] = shrink * w[i] - (direct * d + lr * m[i]) / (SQRT(v[i]) * scale + eps);
    }
}

/* c: 9 whether the step is rectified; C_LR holds all factors */
static void LOOP(radam)(LOOP_ARGS) {
    COMMON;
    ADAM_COEFFICIENTS;
    if (c[9] != 0) {
        for (Py_ssize_t i = 0; i < n; i++) {
            MOMENTS(i);
            w[i] = shrink * w[i] - lr * m[i] / (SQRT(v[i]) + eps);
        }
    } else {
        for (Py_ssize_t i = 0; i < n; i++) {
            MOMENTS(i);
            w[i] = shrink * w[i] - lr * m[i];
        }
    }
    (void)scale;
}

static void LOOP(adamax)(LOOP_ARGS) {
    COMMON;
    const REAL new1 = (REAL)c[3], beta2 = (REAL)c[4], eps = (REAL)c[7];
    REAL *restrict m = ARRAY(2), *restrict u = ARRAY(3);
    for (Py_ssize_t i = 0; i < n; i++) {
        const REAL d = GRADIENT(i), old = beta2 * u[i], fresh = FABS(d) + eps;
        m[i] += new1 * (d - m[i]);
        u[i] = old > fresh || old != old ? old : fresh;
        w[i] -= lr * m[i] / u[i];
    }
}

/* c: 3 alpha, 4 1-alpha, 5 eps, 6 momentum */
static inline __attribute__((always_inline)) void LOOP(rms)(LOOP_ARGS, const int centered, const int momentum) {
    COMMON;
    const REAL alpha = (REAL)c[3], fresh = (REAL)c[4], eps = (REAL)c[5], keep = (REAL)c[6];
    REAL *restrict v = ARRAY(2), *restrict mean = centered ? ARRAY(3) : 0;
    REAL *restrict buf = momentum ? ARRAY(3 + centered) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const REAL d = GRADIENT(i);
        REAL square = v[i] = alpha * v[i] + fresh * d * d;
        if (centered) {
            mean[i] += fresh * (d - mean[i]);
            square -= mean[i] * mean[i];
        }
        REAL update = d / (SQRT(square) + eps);
        if (momentum) update = buf[i] = keep * buf[i] + update;
        w[i] -= lr * update;
    }
}
static void LOOP(rmsprop)(LOOP_ARGS) { LOOP(rms)(p, n, c, 0, 0); }
static void LOOP(rmsprop_centered)(LOOP_ARGS) { LOOP(rms)(p, n, c, 1, 0); }
static void LOOP(rmsprop_momentum)(LOOP_ARGS) { LOOP(rms)(p, n, c, 0, 1); }
static void LOOP(rmsprop_centered_momentum)(LOOP_ARGS) { LOOP(rms)(p, n, c, 1, 1); }

static void LOOP(adagrad)(LOOP_ARGS) {
    COMMON;
    const REAL eps = (REAL)c[3];
    REAL *restrict sum = ARRAY(2);
    for (Py_ssize_t i = 0; i < n; i++) {
        const REAL d = GRADIENT(i);
        sum[i] += d * d;
        w[i] -= lr * d / (SQRT(sum[i]) + eps);
    }
}

/* c: 3 rho, 4 1-rho, 5 eps */
static void LOOP(adadelta)(LOOP_ARGS) {
    COMMON;
    const REAL rho = (REAL)c[3], fresh = (REAL)c[4], eps = (REAL)c[5];
    REAL *restrict v = ARRAY(2), *restrict u = ARRAY(3);
    for (Py_ssize_t i = 0; i < n; i++) {
        const REAL d = GRADIENT(i);
        v[i] = rho * v[i] + fresh * d * d;
        const REAL delta = SQRT(u[i] + eps) / SQRT(v[i] + eps) * d;
        u[i] = rho * u[i] + fresh * delta * delta;
        w[i] -= lr * delta;
    }
}

/* c: 3 shrinking of the parameter, 4 weight of the newest value in the average; C_LR is eta */
static void LOOP(asgd)(LOOP_ARGS) {
    COMMON;
    const REAL shrink = (REAL)c[3], mu = (REAL)c[4];
    REAL *restrict ax = ARRAY(2);
    for (Py_ssize_t i = 0; i < n; i++) {
        w[i] = shrink * w[i] - lr * GRADIENT(i);
        ax[i] = mu == 1 ? w[i] : ax[i] + mu * (w[i] - ax[i]);
    }
}

/* c: 3 eta-, 4 eta+, 5 least and 6 largest step size */
static void LOOP(rprop)(LOOP_ARGS) {
    COMMON;
    const REAL shrink = (REAL)c[3], grow = (REAL)c[4], least = (REAL)c[5], most = (REAL)c[6];
    REAL *restrict prev = ARRAY(2), *restrict size = ARRAY(3);
    for (Py_ssize_t i = 0; i < n; i++) {
        const REAL d = GRADIENT(i), product = d * prev[i];
        REAL s = size[i] * (product > 0 ? grow : product < 0 ? shrink : (REAL)1);
        s = s < least ? least : s;
        s = s > most ? most : s;
        const REAL now = product < 0 ? 0 : d;
        size[i] = s;
        prev[i] = now;
        w[i] -= now != now ? now : (now > 0 ? s : now < 0 ? -s : 0);
    }
    (void)lr;
}

#undef LOOP_ARGS
#undef ARRAY
#undef GRADIENT
#undef COMMON
#undef ADAM_COEFFICIENTS
#undef MOMENTS
