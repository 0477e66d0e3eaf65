"""A pole on a cart, in numpy: the dynamics of Barto, Sutton and Anderson (1983), with gymnasium's interface."""
import math

import numpy as np


class CartPole:
    """Observations (4,), actions 0 and 1, a reward of 1 a step; over when the pole falls or after `limit` steps."""

    def __init__(self, limit=200):
        self.limit = limit

    def reset(self, seed=None):
        if seed is not None:
            self.random = np.random.RandomState(seed)
        self.state = self.random.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state.astype(np.float32), {}

    def step(self, action):
        x, speed, angle, turning = self.state
        force = 10.0 if action == 1 else -10.0
        cos, sin = math.cos(angle), math.sin(angle)
        push = (force + 0.05 * turning ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos ** 2 / 1.1))
        shift = push - 0.05 * turn * cos / 1.1
        self.state = np.array([x + 0.02 * speed, speed + 0.02 * shift, angle + 0.02 * turning, turning + 0.02 * turn])
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state.astype(np.float32), 1.0, bool(fallen), self.steps >= self.limit, {}
