"""A sequence-to-sequence Transformer in the manner of the translation tutorial: masks, teacher forcing, a warm-up schedule, greedy decoding."""
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2
LETTERS = "abcdefgh"


def pairs(count):
    """A made-up language: words backwards, every letter moved on by one."""
    found = []
    for i in range(count):
        n = 3 + i % 4
        word = [(7 * i + 3 * j * j + j) % len(LETTERS) for j in range(n)]
        found.append(("".join(LETTERS[c] for c in word), "".join(LETTERS[(c + 1) % len(LETTERS)] for c in reversed(word))))
    return found


def encode(word):
    return torch.cat((torch.tensor([BOS]), torch.tensor([3 + LETTERS.index(c) for c in word]), torch.tensor([EOS])))


def collate(batch):
    source, target = zip(*batch)
    return (pad_sequence([encode(s) for s in source], padding_value=PAD), pad_sequence([encode(t) for t in target], padding_value=PAD))


class PositionalEncoding(nn.Module):
    def __init__(self, width, dropout, longest=50):
        super().__init__()
        rate = torch.exp(-torch.arange(0, width, 2) * math.log(10000) / width)
        position = torch.arange(0, longest).reshape(longest, 1)
        table = torch.zeros((longest, width))
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", table.unsqueeze(-2))

    def forward(self, x):
        return self.dropout(x + self.table[:x.size(0), :])


class Seq2Seq(nn.Module):
    def __init__(self, width=32, heads=4, layers=1, vocabulary=3 + len(LETTERS), dropout=0.0):
        super().__init__()
        self.transformer = nn.Transformer(width, heads, layers, layers, 64, dropout)
        self.generator = nn.Linear(width, vocabulary)
        self.source, self.target = nn.Embedding(vocabulary, width, PAD), nn.Embedding(vocabulary, width, PAD)
        self.positions = PositionalEncoding(width, dropout)
        self.scale = math.sqrt(width)

    def forward(self, src, trg, trg_mask, src_padding, trg_padding):
        out = self.transformer(self.positions(self.source(src) * self.scale), self.positions(self.target(trg) * self.scale), None, trg_mask, None,
                               src_padding, trg_padding, src_padding)
        return self.generator(out)

    def encode(self, src):
        return self.transformer.encoder(self.positions(self.source(src) * self.scale))

    def decode(self, trg, memory, mask):
        return self.transformer.decoder(self.positions(self.target(trg) * self.scale), memory, mask)


def masks(src, trg):
    causal = nn.Transformer.generate_square_subsequent_mask(trg.size(0))
    return causal.isinf(), (src == PAD).transpose(0, 1), (trg == PAD).transpose(0, 1)


@torch.no_grad()
def translate(model, word):
    model.eval()
    memory = model.encode(encode(word).view(-1, 1))
    found = torch.full((1, 1), BOS, dtype=torch.long)
    for _ in range(10):
        mask = nn.Transformer.generate_square_subsequent_mask(found.size(0)).bool()
        probabilities = model.generator(model.decode(found, memory, mask)[-1])
        best = probabilities.argmax(dim=1).item()
        found = torch.cat([found, torch.ones(1, 1).type_as(found).fill_(best)], dim=0)
        if best == EOS:
            break
    return "".join(LETTERS[i - 3] for i in found.flatten().tolist() if i > 2)


def main():
    torch.manual_seed(0)
    data = pairs(96)
    model = Seq2Seq()
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    print("parameters", sum(p.numel() for p in model.parameters()))
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.15 * 32 ** -0.5 * min((s + 1) ** -0.5, (s + 1) * 30 ** -1.5))
    for epoch in range(12):
        model.train()
        total = 0.0
        for src, trg in DataLoader(data, batch_size=16, shuffle=True, collate_fn=collate, generator=torch.Generator().manual_seed(epoch)):
            given = trg[:-1]
            mask, src_padding, trg_padding = masks(src, given)
            logits = model(src, given, mask, src_padding, trg_padding)
            optimizer.zero_grad()
            loss = criterion(logits.reshape(-1, logits.shape[-1]), trg[1:].reshape(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch} loss {total / 6:.5f}")
    for source, target in data[:3]:
        print(source, target, len(translate(model, source)) > 0)


if __name__ == "__main__":
    main()
