"""A word language model: an LSTM that learns the standard library's docstrings in about a minute.

    python examples/lstm_language_model.py            # writes runs/lstm_language_model/lstm_language_model.png

The text runs through the network in 20 parallel streams, and the state goes on from batch to batch. The embedding
is the last layer too; the picture shows the perplexity by epoch and the commonest words in two dimensions.
"""
import math
import re
import time
from collections import Counter

from shared import bar, documentation, folder, parser, pyplot

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor import nn

WORDS, WIDTH, STREAMS, LENGTH = 2000, 128, 20, 30


class Model(nn.Module):
    """(T, N) words and a state to (T, N, words) scores of the next word and the new state."""

    def __init__(self, words):
        super().__init__()
        self.embedding = nn.Embedding(words, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, num_layers=2, dropout=0.3)
        self.dropout = nn.Dropout(0.3)
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def forward(self, x, state=None):
        h, state = self.rnn(self.dropout(self.embedding(x)), state)
        return F.linear(self.dropout(h), self.embedding.weight, self.bias), state


def corpus():
    """The text's words as numbers, and the words: the commonest ones, the others as <rare>."""
    words = re.findall(r"[a-z]+|[.,;:()']", documentation().lower())
    known = ["<rare>"] + [w for w, _ in Counter(words).most_common(WORDS - 1)]
    number = {w: i for i, w in enumerate(known)}
    return torch.tensor([number.get(w, 0) for w in words]), known


def streams(data):
    """(words / STREAMS, STREAMS)."""
    return data[:len(data) // STREAMS * STREAMS].view(STREAMS, -1).T.contiguous()


def run(model, data, optimizer=None):
    """The mean loss over one pass; trains where there is an optimizer."""
    model.train(optimizer is not None)
    state, total = None, 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for i in range(0, len(data) - 1, LENGTH):
            x, y = data[i:i + LENGTH][:len(data) - 1 - i], data[i + 1:i + 1 + LENGTH]
            if state is not None:
                state = tuple(s.detach() for s in state)        # gradients end where a batch begins
            scores, state = model(x, state)
            loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
            if optimizer:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
            total += loss.item() * len(y)
    return total / (len(data) - 1)


@torch.no_grad()
def write(model, known, count=40):
    """A sentence or two."""
    model.eval()
    word, state, found = torch.tensor([[known.index(".")]]), None, []
    for _ in range(count):
        scores, state = model(word, state)
        chance = scores[0, 0].div(0.8).softmax(0)
        chance[0] = 0                   # no rare word
        word = torch.multinomial(chance, 1).view(1, 1)
        found.append(known[word.item()])
    return re.sub(r" ([.,;:)'])", r"\1", " ".join(found)).replace("( ", "(")


def draw(plt, path, history, model, known):
    figure, axes = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained", width_ratios=(1, 1.6))
    for values, label in zip(zip(*history), ("training, with dropout", "held out")):
        axes[0].plot(range(1, len(history) + 1), [math.exp(v) for v in values], label=label)
    axes[0].set(xlabel="epoch", ylabel="perplexity", yscale="log")
    axes[0].legend()
    axes[0].grid(alpha=0.3, which="both")
    vectors = F.normalize(model.embedding.weight.detach()[1:121], dim=1)
    _, _, directions = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    for (a, b), word in zip((vectors @ directions[:2].T).tolist(), known[1:121]):
        axes[1].text(a, b, word, fontsize=8, ha="center")
        axes[1].plot(a, b, alpha=0)
    axes[1].set_title("the 120 commonest words, along the two main directions of their vectors")
    axes[1].axis("off")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    options = parser(__doc__, "lstm_language_model", steps=8, lr=4e-3, unit="epochs").parse_args()
    torch.manual_seed(options.seed)
    folder(options.out)
    data, known = corpus()
    cut = len(data) * 9 // 10
    train, test = streams(data[:cut]), streams(data[cut:])
    model = Model(len(known))
    print(f"{len(data)} words of {len(known)} kinds, {sum(p.numel() for p in model.parameters())} parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.4, patience=0)
    history, begin = [], time.perf_counter()
    epochs, show = bar(options.steps, options.quiet)
    for _ in epochs:
        history.append((run(model, train, optimizer), run(model, test)))
        schedule.step(history[-1][1])
        show(training=math.exp(history[-1][0]), held_out=math.exp(history[-1][1]))
    seconds = time.perf_counter() - begin
    torch.save({"model": model.state_dict(), "words": known}, options.out / "model.pt")
    print(write(model, known))
    print(f"model      {options.out / 'model.pt'}")
    plt = pyplot()
    if plt:
        draw(plt, options.out / "lstm_language_model.png", history, model, known)
        print(f"picture    {options.out / 'lstm_language_model.png'}")
    print(f"perplexity {math.exp(history[-1][1]):.1f} of held-out words, {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
