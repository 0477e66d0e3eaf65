"""A GPT that writes letter by letter, trained on the standard library's docstrings in about a minute.

    python examples/char_gpt.py                      # trains, writes runs/char_gpt/char_gpt.png and model.pt
    python examples/char_gpt.py --sample 500         # writes 500 letters with the trained model
    python examples/char_gpt.py --text book.txt      # another text

Three blocks of causal self-attention and a two-layer network each, with layer norm before both (GPT-2's order).
"""
import math
import time
from pathlib import Path

from shared import bar, count, documentation, folder, parser, pyplot, restored, stop

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor import nn

CONTEXT, WIDTH, HEADS, BLOCKS = 64, 96, 4, 3
LEAST = 20 * CONTEXT        # letters of a text: a tenth is held out


class Block(nn.Module):
    """(N, T, WIDTH) to the same; position t sees positions up to t."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def heads(self, x):
        """Queries, keys and values, each (N, HEADS, T, WIDTH / HEADS)."""
        n, t, _ = x.shape
        return (v.view(n, t, HEADS, -1).transpose(1, 2) for v in self.qkv(self.norm1(x)).chunk(3, dim=2))

    def forward(self, x):
        mixed = F.scaled_dot_product_attention(*self.heads(x), is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm2(x))

    def weights(self, x):
        """The attention weights alone, for the picture."""
        q, k, _ = self.heads(x)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) == 1, -math.inf).softmax(-1)


class GPT(nn.Module):
    """(N, T) letters to (N, T, letters) scores of the next one."""

    def __init__(self, letters):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.05)

    def embed(self, x):
        return self.letter(x) + self.place(torch.arange(x.shape[1]))

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.letter.weight.T       # the embedding is the last layer too

    @torch.no_grad()
    def write(self, start, count, temperature=0.8):
        """`start` (1, T) continued by `count` letters."""
        for _ in range(count):
            scores = self(start[:, -CONTEXT:])[:, -1] / temperature
            start = torch.cat([start, torch.multinomial(scores.softmax(1), 1)], 1)
        return start


def batch(data, size):
    """Random pieces of the text, and the same one letter on."""
    begin = torch.randint(len(data) - CONTEXT - 1, (size, 1))
    pieces = data[begin + torch.arange(CONTEXT + 1)]
    return pieces[:, :-1], pieces[:, 1:]


@torch.no_grad()
def held_out_loss(net, data):
    pieces = data[:len(data) // CONTEXT * CONTEXT].view(-1, CONTEXT)[:128]
    return F.cross_entropy(net(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten()).item()


def draw(plt, path, history, net, letters, data, text):
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained", width_ratios=(1, 1, 1.2))
    steps, training, held_out = zip(*history)
    axes[0].plot(steps, training, label="training")
    axes[0].plot(steps, held_out, label="held out")
    axes[0].set(xlabel="step", ylabel="loss (nats a letter)")
    axes[0].legend()
    axes[0].grid(alpha=0.3)
    piece = data[:32].unsqueeze(0)
    with torch.no_grad():
        weights = net.blocks[1].weights(net.blocks[0](net.embed(piece)))[0].amax(0)
    shown = [letters[i] for i in piece[0].tolist()]
    axes[1].imshow(weights.sqrt().tolist(), cmap="viridis")
    axes[1].set_xticks(range(32), shown)
    axes[1].set_yticks(range(32), shown)
    axes[1].set_title("which letters the second block looks at")
    axes[2].axis("off")
    lines, line = [], ""
    for word in text.replace("\n", " / ").split(" "):
        if len(line) + len(word) > 52:
            lines.append(line)
            line = ""
        line += word + " "
    axes[2].text(0, 1, "\n".join([*lines, line][:18]), va="top", family="monospace", fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def loaded(saved):
    """The network and the letters of a file."""
    net = GPT(len(saved["letters"]))
    net.load_state_dict(saved["net"])
    return net, saved["letters"]


def read(path):
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        stop(f"--text {path}: {error}")
    if len(text) < LEAST:
        stop(f"--text {path}: {len(text)} letters are too few to learn from: at least {LEAST} are needed")
    return text


def main():
    options = parser(__doc__, "char_gpt", steps=700, lr=3e-3)
    options.add_argument("--text", type=Path, help="a text file to learn instead")
    options.add_argument("--sample", type=count(), metavar="LETTERS", help="write with the model in --out instead of training")
    options = options.parse_args()
    torch.manual_seed(options.seed)
    if options.sample:
        net, letters = restored(options.out / "model.pt", loaded, "train without --sample first")
        print("".join(letters[i] for i in net.write(torch.zeros(1, 1, dtype=torch.int64), options.sample)[0, 1:].tolist()))
        return
    text = read(options.text) if options.text else documentation()
    folder(options.out)
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    data = torch.tensor([number[letter] for letter in text])
    train, test = data[:-len(data) // 10], data[-len(data) // 10:]
    net = GPT(len(letters))
    print(f"{len(text)} letters of {len(letters)} kinds, {sum(p.numel() for p in net.parameters())} parameters")
    optimizer = torch.optim.AdamW(net.parameters(), lr=options.lr, weight_decay=0.05, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, total_steps=options.steps + 1, pct_start=0.1)
    history, begin = [], time.perf_counter()
    steps, show = bar(options.steps, options.quiet)
    for step in steps:
        x, y = batch(train, 24)
        loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == options.steps - 1:
            history.append((step, loss.item(), held_out_loss(net, test)))
            show(loss=history[-1][1], held_out=history[-1][2])
    seconds = time.perf_counter() - begin
    torch.save({"net": net.state_dict(), "letters": letters}, options.out / "model.pt")
    written = "".join(letters[i] for i in net.write(test[:CONTEXT].unsqueeze(0), 500)[0, CONTEXT:].tolist())
    print(written)
    print(f"model      {options.out / 'model.pt'}")
    plt = pyplot()
    if plt:
        draw(plt, options.out / "char_gpt.png", history, net, letters, test, written)
        print(f"picture    {options.out / 'char_gpt.png'}")
    print(f"loss       {history[-1][2]:.3f} nats a held-out letter, {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
