"""A pole balanced on a cart by policy gradients, in about ten seconds: advantage actor-critic with clipping (PPO).

    python examples/cartpole.py                  # writes runs/cartpole/cartpole.png
    python examples/cartpole.py --gymnasium      # tries the policy in gymnasium's CartPole-v1 afterwards

The dynamics are those of Barto, Sutton and Anderson (1983), as in gymnasium's CartPole-v1, here for many carts at once:
their states are the rows of one tensor. An episode ends when the pole falls, the cart leaves, or after 500 steps.
"""
import copy
import math
import time

from shared import bar, folder, parser, pyplot, stop

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor import nn

CARTS, STEPS, LONGEST = 16, 128, 500


class Carts:
    """States (CARTS, 4): place, speed, angle, turning speed."""

    def __init__(self, count=CARTS):
        self.state, self.age = torch.rand(count, 4) * 0.1 - 0.05, torch.zeros(count)

    def step(self, action):
        """Push right (1) or left (0); new states, which episodes ended, and which of those by a fall. Ended ones begin again."""
        x, speed, angle, turning = self.state.unbind(1)
        force = 20.0 * action - 10.0
        sin, cos = angle.sin(), angle.cos()
        push = (force + 0.05 * turning ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        shift = push - 0.05 * turn * cos / 1.1
        self.state = torch.stack([x + 0.02 * speed, speed + 0.02 * shift, angle + 0.02 * turning, turning + 0.02 * turn], 1)
        self.age += 1
        fallen = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180)
        over = fallen | (self.age >= LONGEST)
        lengths = self.age[over].tolist()
        fresh = torch.rand(len(self.state), 4) * 0.1 - 0.05
        self.state = torch.where(over.unsqueeze(1), fresh, self.state)
        self.age = torch.where(over, 0.0, self.age)
        return self.state, over, fallen, lengths


class Policy(nn.Module):
    """States (N, 4) to scores of the two actions (N, 2) and the value of the state (N,)."""

    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        nn.init.orthogonal_(self.actor[-1].weight, 0.01)

    def forward(self, state):
        scaled = state * torch.tensor([0.5, 0.5, 5.0, 0.5])
        return self.actor(scaled), self.critic(scaled).squeeze(-1)


@torch.no_grad()
def play(policy, carts):
    """STEPS steps of all carts: states, actions, their log probabilities, advantages, returns, lengths of ended episodes."""
    states, actions, chances, values, ends, falls, lengths = [], [], [], [], [], [], []
    state = carts.state
    for _ in range(STEPS):
        scores, value = policy(state)
        logs = scores.log_softmax(1)
        action = torch.multinomial(logs.exp(), 1)
        states.append(state)
        actions.append(action)
        chances.append(logs.gather(1, action).squeeze(1))
        values.append(value)
        state, over, fallen, ended = carts.step(action.squeeze(1).to(state.dtype))
        ends.append(over)
        falls.append(fallen)
        lengths += ended
    following = policy(state)[1]
    # Generalised advantage estimation (Schulman et al., 2016), from the last step to the first.
    advantages, running = [None] * STEPS, torch.zeros(len(state))
    for t in reversed(range(STEPS)):
        going = 1.0 - ends[t].to(state.dtype)
        # A cut-off after LONGEST steps is no failure: its value is taken to go on.
        rest = torch.where(ends[t] & ~falls[t], values[t], following * going)
        running = 1.0 + 0.99 * rest - values[t] + 0.99 * 0.95 * going * running
        advantages[t], following = running, values[t]
    advantage, value = torch.cat(advantages), torch.cat(values)
    return torch.cat(states), torch.cat(actions), torch.cat(chances), advantage, advantage + value, lengths


def learn(policy, optimizer, rollout):
    """Four passes over what was played, with clipped ratios (Schulman et al., 2017). Returns the last loss."""
    states, actions, chances, advantage, returns, _ = rollout
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(4):
        for rows in torch.randperm(len(states)).split(512):
            scores, value = policy(states[rows])
            logs = scores.log_softmax(1)
            ratio = (logs.gather(1, actions[rows]).squeeze(1) - chances[rows]).exp()
            gain = torch.minimum(ratio * advantage[rows], ratio.clamp(0.8, 1.2) * advantage[rows]).mean()
            entropy = -(logs.exp() * logs).sum(1).mean()
            loss = -gain + 0.5 * F.mse_loss(value, returns[rows]) / 100 - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
    return loss.item()


@torch.no_grad()
def watch(policy):
    """The angle (degrees) and place of eight carts under the policy's best actions, until each one's episode ends."""
    carts = Carts(8)
    tracks, going = [[] for _ in range(8)], [True] * 8
    for _ in range(LONGEST):
        for i in range(8):
            if going[i]:
                tracks[i].append((carts.state[i, 0].item(), math.degrees(carts.state[i, 2].item())))
        _, over, _, _ = carts.step(policy(carts.state)[0].argmax(1).to(torch.float32))
        going = [g and not o for g, o in zip(going, over.tolist())]
    return tracks


def in_gymnasium(policy):
    """Mean reward of ten episodes of gymnasium's own environment."""
    try:
        import gymnasium
    except ImportError:
        stop("--gymnasium needs the package: pip install '.[gymnasium]'")
    env, rewards = gymnasium.make("CartPole-v1"), []
    for seed in range(10):
        state, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            with torch.no_grad():
                action = policy(torch.from_numpy(state).unsqueeze(0))[0].argmax().item()
            state, reward, done, cut, _ = env.step(action)
            total, over = total + reward, done or cut
        rewards.append(total)
    return sum(rewards) / len(rewards)


def draw(plt, path, lengths, tracks):
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    axes[0].plot(lengths, ".", markersize=2, alpha=0.4)
    width = max(1, min(50, len(lengths) // 10))
    smooth = [sum(lengths[max(0, i - width):i + 1]) / len(lengths[max(0, i - width):i + 1]) for i in range(len(lengths))]
    axes[0].plot(smooth)
    axes[0].set(xlabel="episode", ylabel="steps until it ended")
    for track in tracks:
        axes[1].plot([a for _, a in track], linewidth=0.8)
        axes[2].plot([x for x, _ in track], linewidth=0.8)
    axes[1].set(xlabel="step", ylabel="angle of the pole (degrees)", ylim=(-13, 13))
    axes[2].set(xlabel="step", ylabel="place of the cart", ylim=(-2.5, 2.5))
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    options = parser(__doc__, "cartpole", steps=150, lr=2e-3, unit="rounds of 2,048 steps")
    options.add_argument("--gymnasium", action="store_true", help="try the policy in gymnasium's CartPole-v1")
    options = options.parse_args()
    torch.manual_seed(options.seed)
    folder(options.out)
    policy, carts = Policy(), Carts()
    optimizer = torch.optim.Adam(policy.parameters(), lr=options.lr, eps=1e-5)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, options.steps)
    lengths, longest, best, begin = [], 0.0, None, time.perf_counter()
    rounds, show = bar(options.steps, options.quiet)
    for _ in rounds:
        rollout = play(policy, carts)
        loss = learn(policy, optimizer, rollout)
        schedule.step()
        lengths += rollout[-1]
        length = sum(lengths[-20:]) / max(len(lengths[-20:]), 1)
        # A policy that balances can lose it again in a later round: the best one is kept.
        if best is None or length >= longest:
            longest, best = length, copy.deepcopy(policy.state_dict())
        show(episodes=len(lengths), length=length, loss=loss)
    policy.load_state_dict(best)
    seconds = time.perf_counter() - begin
    tracks = watch(policy)
    torch.save(policy.state_dict(), options.out / "model.pt")
    print(f"model      {options.out / 'model.pt'}")
    plt = pyplot()
    if plt:
        draw(plt, options.out / "cartpole.png", lengths, tracks)
        print(f"picture    {options.out / 'cartpole.png'}")
    if options.gymnasium:
        print(f"gymnasium  {in_gymnasium(policy):.1f} steps of 500, mean of ten episodes")
    print(f"balanced   {sum(map(len, tracks)) / len(tracks):.1f} steps of {LONGEST}, mean of eight episodes, {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
