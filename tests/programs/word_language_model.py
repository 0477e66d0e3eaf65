"""A word language model: LSTM, GRU, Elman network or Transformer over a page of text."""
import argparse
import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import text


class Dictionary:
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]


class Corpus:
    def __init__(self):
        self.dictionary = Dictionary()
        lines = [line.split() + ["<eos>"] for line in text().splitlines() * 4]
        ids = [torch.tensor([self.dictionary.add_word(word) for word in words]).type(torch.int64) for words in lines]
        everything = torch.cat(ids)
        self.train, self.valid = everything[:480], everything[480:]


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type]
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type = rnn_type
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return self.dropout(x + self.pe[:x.size(0), :])


class TransformerModel(nn.Transformer):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.5):
        super().__init__(d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers)
        self.model_type = "Transformer"
        self.src_mask = None
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        self.input_emb = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)
        nn.init.uniform_(self.input_emb.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def _generate_square_subsequent_mask(self, sz):
        return torch.log(torch.tril(torch.ones(sz, sz)))

    def forward(self, src, has_mask=True):
        if has_mask:
            device = src.device
            if self.src_mask is None or self.src_mask.size(0) != len(src):
                self.src_mask = self._generate_square_subsequent_mask(len(src)).to(device)
        else:
            self.src_mask = None
        src = self.input_emb(src) * math.sqrt(self.ninp)
        src = self.pos_encoder(src)
        output = self.encoder(src, mask=self.src_mask)
        output = self.decoder(output)
        return F.log_softmax(output, dim=-1)


def batchify(data, bsz, device):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    data = data.view(bsz, -1).t().contiguous()
    return data.to(device)


def repackage_hidden(h):
    """Wraps hidden states in new tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def main():
    parser = argparse.ArgumentParser(description="PyTorch RNN/LSTM/GRU/Transformer Language Model")
    parser.add_argument("--model", type=str, default="LSTM")
    parser.add_argument("--emsize", type=int, default=24)
    parser.add_argument("--nhid", type=int, default=24)
    parser.add_argument("--lr", type=float, default=5)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--bptt", type=int, default=12)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--seed", type=int, default=1111)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    if torch.cuda.is_available() or (hasattr(torch.backends, "mps") and torch.backends.mps.is_available()):
        print("WARNING: You have an accelerator device")
    device = torch.device("cpu")

    corpus = Corpus()
    train_data = batchify(corpus.train, 8, device)
    val_data = batchify(corpus.valid, 4, device)
    ntokens = len(corpus.dictionary.idx2word)
    if args.model == "Transformer":
        model = TransformerModel(ntokens, args.emsize, 2, args.nhid, 2, 0.2).to(device)
    else:
        model = RNNModel(args.model, ntokens, args.emsize, args.nhid, 2, 0.2, args.tied).to(device)
    criterion = nn.NLLLoss()

    def evaluate(source):
        model.eval()
        total_loss = 0.0
        if args.model != "Transformer":
            hidden = model.init_hidden(4)
        with torch.no_grad():
            for i in range(0, source.size(0) - 1, args.bptt):
                data, targets = get_batch(source, i, args.bptt)
                if args.model == "Transformer":
                    output = model(data)
                    output = output.view(-1, ntokens)
                else:
                    output, hidden = model(data, hidden)
                    hidden = repackage_hidden(hidden)
                total_loss += len(data) * criterion(output, targets).item()
        return total_loss / (len(source) - 1)

    lr, best, kept = args.lr, None, io.BytesIO()
    for epoch in range(1, args.epochs + 1):
        model.train()
        if args.model != "Transformer":
            hidden = model.init_hidden(8)
        for i in range(0, train_data.size(0) - 1, args.bptt):
            data, targets = get_batch(train_data, i, args.bptt)
            model.zero_grad()
            if args.model == "Transformer":
                output = model(data).view(-1, ntokens)
            else:
                hidden = repackage_hidden(hidden)
                output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            for p in model.parameters():
                if p.grad is not None:
                    p.data.add_(p.grad, alpha=-lr)
        val_loss = evaluate(val_data)
        print(f"| end of epoch {epoch} | loss {loss.item():.5f} | valid loss {val_loss:.5f} | valid ppl {math.exp(val_loss):.3f}")
        if not best or val_loss < best:
            kept = io.BytesIO()
            torch.save(model, kept)
            best = val_loss
        else:
            lr /= 4.0
    kept.seek(0)
    model = torch.load(kept, weights_only=False)
    if args.model in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"):
        model.rnn.flatten_parameters()
    print(f"| End of training | test loss {evaluate(val_data):.5f}")

    model.eval()
    input = torch.randint(ntokens, (1, 1), dtype=torch.long)
    hidden = None if args.model == "Transformer" else model.init_hidden(1)
    words = []
    with torch.no_grad():
        for _ in range(12):
            if args.model == "Transformer":
                word_weights = model(input, False)[-1].squeeze().div(1.0).exp().cpu()
                word_idx = torch.multinomial(word_weights, 1)[0]
                input = torch.cat([input, torch.Tensor([[word_idx]]).long()], 0)
            else:
                output, hidden = model(input, hidden)
                word_weights = output.squeeze().div(1.0).exp().cpu()
                word_idx = torch.multinomial(word_weights, 1)[0]
                input.fill_(word_idx)
            words.append(corpus.dictionary.idx2word[word_idx])
    print(" ".join(words))


if __name__ == "__main__":
    main()
