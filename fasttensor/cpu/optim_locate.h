/* Which of many arrays, numbered through, holds an element. start[i]: elements before array i. */
#ifndef FT_OPTIM_LOCATE_H
#define FT_OPTIM_LOCATE_H
static inline Py_ssize_t ft_locate(const Py_ssize_t *start, Py_ssize_t n, Py_ssize_t element) {
    Py_ssize_t low = 0, high = n - 1;
    while (low < high) {
        Py_ssize_t middle = (low + high + 1) / 2;
        if (start[middle] <= element) low = middle; else high = middle - 1;
    }
    return low;
}
#endif
