"""Refuses, with a message and not with SIGILL, a build made for another CPU.

Compiled for the platform's baseline, and imported before any other compiled module.
"""

cdef extern from *:
    """
    #include <string.h>
    #ifndef FT_REQUIRES
    #define FT_REQUIRES ""
    #define FT_MARCH "native"
    #endif
    #if defined(__x86_64__) && defined(__GNUC__)
    static int ft_lacks(const char *name) {
        __builtin_cpu_init();
        #define HAS(f) if (!strcmp(name, #f)) return !__builtin_cpu_supports(#f);
        HAS(avx) HAS(avx2) HAS(fma) HAS(avx512f) HAS(avx512bw) HAS(avx512dq) HAS(avx512vl) HAS(bmi2) HAS(avx512vnni)
        return 0;
    }
    #else
    static int ft_lacks(const char *name) { return 0; }
    #endif
    """
    bint ft_lacks(const char *name)
    const char *FT_REQUIRES
    const char *FT_MARCH


def required():
    """Names of the instruction sets that this build uses."""
    return [name for name in FT_REQUIRES.decode().split(",") if name]


def check(lacks=None):
    """Raise ImportError where this CPU lacks what the build uses. `lacks(name)` serves tests."""
    missing = [name for name in required() if (lacks(name) if lacks is not None else ft_lacks(name.encode()))]
    if missing:
        raise ImportError(
            f"fasttensor was compiled for -march={FT_MARCH.decode()}, and this CPU lacks {', '.join(missing)}. "
            "Install it again on this machine, or build for any CPU with "
            "FASTTENSOR_MARCH=x86-64-v2 pip install --no-cache-dir --force-reinstall .")


def march():
    """The architecture the build was made for."""
    return FT_MARCH.decode()
