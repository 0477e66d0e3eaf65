/* The optimizers' kernels: for each, a coefficient function and a loop.
 *
 *     h: lr, weight decay, maximize, then the optimizer's own options (its `_hyper`)
 *     s: its 0-d states, read and advanced
 *     fresh: the state tensors were made for this step
 *     c: what the loop of optim_loops.h reads
 */
#ifndef FT_OPTIM_STEP_H
#define FT_OPTIM_STEP_H
#include <math.h>

enum { C_LR, C_DECAY, C_SIGN, N_COEFFICIENTS = 12, MAX_SCALARS = 3, MAX_STATES = 4 };
enum { H_LR, H_DECAY, H_MAXIMIZE };

#define REAL float
#define LOOP(name) name##_f32
#define SQRT sqrtf
#define FABS fabsf
#include "optim_loops.h"
#undef REAL
#undef LOOP
#undef SQRT
#undef FABS
#define REAL double
#define LOOP(name) name##_f64
#define SQRT sqrt
#define FABS fabs
#include "optim_loops.h"
#undef REAL
#undef LOOP
#undef SQRT
#undef FABS

#define COEFFICIENTS const double *h, double *s, int fresh, double *c

static void common_c(const double *h, double *c) {
    c[C_LR] = h[H_LR];
    c[C_DECAY] = h[H_DECAY];
    c[C_SIGN] = h[H_MAXIMIZE] != 0 ? -1.0 : 1.0;
}

static void sgd_c(COEFFICIENTS) { common_c(h, c); }

static void sgd_momentum_c(COEFFICIENTS) {     /* h: momentum, dampening, nesterov */
    common_c(h, c);
    c[3] = fresh ? 0 : h[3];                   /* the buffer starts at the first gradient */
    c[4] = fresh ? 1 : 1 - h[4];
    c[5] = h[3];
    c[6] = h[5];
}

static void decouple(const double *h, double decoupled, double *c) {
    c[8] = decoupled != 0 ? 1 - h[H_LR] * h[H_DECAY] : 1;
    if (decoupled != 0) c[C_DECAY] = 0;
}

static void adam_c(COEFFICIENTS) {             /* h: beta1, beta2, eps, decoupled; s: step */
    common_c(h, c);
    const double t = s[0] += 1;
    c[C_LR] = h[H_LR] / (1 - pow(h[3], t));
    c[3] = 1 - h[3];
    c[4] = h[4];
    c[5] = 1 - h[4];
    c[6] = 1 / sqrt(1 - pow(h[4], t));
    c[7] = h[5];
    decouple(h, h[6], c);
}

static void nadam_c(COEFFICIENTS) {            /* as adam, then momentum decay; s: step, product of mu */
    adam_c(h, s, fresh, c);
    const double mu = h[3] * (1 - 0.5 * pow(0.96, s[0] * h[7]));
    const double next = h[3] * (1 - 0.5 * pow(0.96, (s[0] + 1) * h[7]));
    s[1] *= mu;
    c[9] = h[H_LR] * (1 - mu) / (1 - s[1]);
    c[C_LR] = h[H_LR] * next / (1 - s[1] * next);
}

static void radam_c(COEFFICIENTS) {            /* as adam */
    adam_c(h, s, fresh, c);
    const double t = s[0], correction = 1 - pow(h[4], t);
    const double limit = 2 / (1 - h[4]) - 1, length = limit - 2 * t * pow(h[4], t) / correction;
    c[9] = length > 5;
    if (length > 5)
        c[C_LR] *= sqrt(correction * (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
}

static void adamax_c(COEFFICIENTS) {           /* h: beta1, beta2, eps; s: step */
    common_c(h, c);
    c[C_LR] = h[H_LR] / (1 - pow(h[3], s[0] += 1));
    c[3] = 1 - h[3];
    c[4] = h[4];
    c[7] = h[5];
}

static void rmsprop_c(COEFFICIENTS) {          /* h: alpha, eps, momentum; s: step */
    common_c(h, c);
    s[0] += 1;
    c[3] = h[3];
    c[4] = 1 - h[3];
    c[5] = h[4];
    c[6] = h[5];
}

static void adagrad_c(COEFFICIENTS) {          /* h: lr decay, eps; s: step */
    common_c(h, c);
    s[0] += 1;
    c[C_LR] = h[H_LR] / (1 + (s[0] - 1) * h[3]);
    c[3] = h[4];
}

static void adadelta_c(COEFFICIENTS) {         /* h: rho, eps; s: step */
    common_c(h, c);
    s[0] += 1;
    c[3] = h[3];
    c[4] = 1 - h[3];
    c[5] = h[4];
}

static void asgd_c(COEFFICIENTS) {             /* h: lambd, alpha, t0; s: step, eta, mu */
    common_c(h, c);
    const double t = s[0] += 1;
    c[C_LR] = s[1];
    c[3] = 1 - h[3] * s[1];
    c[4] = s[2];
    s[1] = h[H_LR] / pow(1 + h[3] * h[H_LR] * t, h[4]);
    s[2] = 1 / fmax(1, t - h[5]);
}

static void rprop_c(COEFFICIENTS) {            /* h: eta-, eta+, least and largest step size; s: step */
    common_c(h, c);
    s[0] += 1;
    for (int i = 3; i < 7; i++) c[i] = h[i];
}

typedef void (*ft_coefficients)(COEFFICIENTS);
typedef void (*ft_update)(void *const *p, Py_ssize_t n, const double *c);
typedef struct {
    const char *name;
    int states, scalars;
    ft_coefficients coefficients;
    ft_update f32, f64;
} ft_optimizer;

#define OPTIMIZER(name, states, scalars, coefficients) {#name, states, scalars, coefficients, name##_f32, name##_f64}
static const ft_optimizer FT_OPTIMIZERS[] = {
    OPTIMIZER(sgd, 0, 0, sgd_c), OPTIMIZER(sgd_momentum, 1, 0, sgd_momentum_c),
    OPTIMIZER(adam, 2, 1, adam_c), OPTIMIZER(amsgrad, 3, 1, adam_c), OPTIMIZER(nadam, 2, 2, nadam_c),
    OPTIMIZER(radam, 2, 1, radam_c), OPTIMIZER(adamax, 2, 1, adamax_c),
    OPTIMIZER(rmsprop, 1, 1, rmsprop_c), OPTIMIZER(rmsprop_centered, 2, 1, rmsprop_c),
    OPTIMIZER(rmsprop_momentum, 2, 1, rmsprop_c), OPTIMIZER(rmsprop_centered_momentum, 3, 1, rmsprop_c),
    OPTIMIZER(adagrad, 1, 1, adagrad_c), OPTIMIZER(adadelta, 2, 1, adadelta_c), OPTIMIZER(asgd, 1, 3, asgd_c),
    OPTIMIZER(rprop, 2, 1, rprop_c),
};
enum { FT_N_OPTIMIZERS = sizeof(FT_OPTIMIZERS) / sizeof(FT_OPTIMIZERS[0]) };
#endif
