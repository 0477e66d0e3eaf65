"""Operators between a tensor and a numpy array."""
import numpy as np
import pytest

import fasttensor as ft


def test_equality_with_arrays_is_elementwise():
    x, a = ft.tensor([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 3.0])
    for result in (x == a, a == x, x == a[::-1][::-1]):
        assert isinstance(result, ft.Tensor) and result.tolist() == [True, False, True]
    assert (x != a).tolist() == (a != x).tolist() == [False, True, False]
    assert (x == a[::-1]).tolist() == [False, False, False]
    assert (x == a.reshape(3, 1)).shape == (3, 3)
    assert (x == np.array(["a", "b", "c"])) is False


def test_array_divided_by_tensor():
    x = ft.tensor([1.0, 2.0, 4.0])
    result = np.array([1.0, 1.0, 1.0]) / x
    assert isinstance(result, ft.Tensor) and result.tolist() == [1.0, 0.5, 0.25]


def test_arrays_have_no_other_reflected_operators():
    with pytest.raises(TypeError):
        np.ones(3) * ft.ones(3)
    with pytest.raises(TypeError):
        print(ft.ones(3) < np.ones(3))


def test_floats_of_numpy_make_powers_of_integers_floats():
    x = ft.arange(3)
    assert (x ** np.float32(2)).dtype == x.pow(np.float32(2)).dtype == ft.float32 and (x ** np.int64(2)).dtype == ft.int64
