"""A graph convolutional network (Kipf and Welling, 2017) with a sparse adjacency matrix."""
import argparse

import torch
import torch.nn.functional as F
from graph_data import community_graph
from torch import nn
from torch.optim import Adam


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super().__init__()
        self.kernel = nn.Parameter(torch.Tensor(input_dim, output_dim))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = nn.Parameter(torch.Tensor(output_dim))
            nn.init.zeros_(self.bias)

    def forward(self, input_tensor, adj_mat):
        support = torch.mm(input_tensor, self.kernel)
        output = torch.mm(adj_mat, support)
        if self.bias is not None:
            output = output + self.bias
        return output


class GCN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, use_bias=True, dropout_p=0.1):
        super().__init__()
        self.gc1 = GraphConv(input_dim, hidden_dim, use_bias=use_bias)
        self.gc2 = GraphConv(hidden_dim, output_dim, use_bias=use_bias)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input_tensor, adj_mat):
        x = self.gc1(input_tensor, adj_mat)
        x = F.relu(x)
        x = self.dropout(x)
        x = self.gc2(x, adj_mat)
        return F.log_softmax(x, dim=1)


parser = argparse.ArgumentParser()
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--epochs", type=int, default=40)
args = parser.parse_args()
device = torch.device("cuda" if not args.no_cuda and torch.cuda.is_available() else "cpu")
torch.manual_seed(42)
features, labels, adj = community_graph()
degree = adj.sum(1).pow(-0.5)
adj = torch.diag(degree) @ adj @ torch.diag(degree)
idx = torch.randperm(len(labels)).to(device)
idx_train, idx_val, idx_test = idx[:40], idx[40:70], idx[70:]
gcn = GCN(features.shape[1], 16, int(labels.max()) + 1).to(device)
optimizer = Adam(gcn.parameters(), lr=0.02, weight_decay=5e-4)
criterion = nn.NLLLoss()
for epoch in range(args.epochs):
    gcn.train()
    optimizer.zero_grad()
    output = gcn(features, adj)
    loss = criterion(output[idx_train], labels[idx_train])
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 10 == 0:
        gcn.eval()
        with torch.no_grad():
            output = gcn(features, adj)
            acc = (output[idx_val].argmax(dim=1) == labels[idx_val]).float().mean().item()
        print(f"Epoch {epoch + 1:04d} train_loss: {loss.item():.5f} val_loss {criterion(output[idx_val], labels[idx_val]).item():.5f} val_acc {acc:.4f}")
gcn.eval()
with torch.no_grad():
    output = gcn(features, adj)
    print(f"Test loss: {criterion(output[idx_test], labels[idx_test]).item():.5f}")
