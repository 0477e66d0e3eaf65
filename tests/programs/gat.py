"""A graph attention network (Velickovic et al., 2018)."""
import torch
import torch.nn.functional as F
from graph_data import community_graph
from torch import nn
from torch.optim import Adam


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, dropout=0.4, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads, self.concat, self.dropout = n_heads, concat, dropout
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)
        self.softmax = nn.Softmax(dim=1)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_normal_(self.W)
        nn.init.xavier_normal_(self.a)

    def _get_attention_scores(self, h_transformed):
        source_scores = torch.matmul(h_transformed, self.a[:, :self.n_hidden, :])
        target_scores = torch.matmul(h_transformed, self.a[:, self.n_hidden:, :])
        return self.leakyrelu(source_scores + target_scores.mT)

    def forward(self, h, adj_mat):
        n_nodes = h.shape[0]
        h_transformed = torch.mm(h, self.W)
        h_transformed = F.dropout(h_transformed, self.dropout, training=self.training)
        h_transformed = h_transformed.view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)
        e = self._get_attention_scores(h_transformed)
        connectivity_mask = -9e16 * torch.ones_like(e)
        e = torch.where(adj_mat > 0, e, connectivity_mask)
        attention = F.softmax(e, dim=-1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, h_transformed)
        if self.concat:
            return h_prime.permute(1, 0, 2).contiguous().view(n_nodes, -1)
        return h_prime.mean(dim=0)


class GAT(nn.Module):
    def __init__(self, in_features, n_hidden, n_heads, num_classes):
        super().__init__()
        self.gat1 = GraphAttentionLayer(in_features, n_hidden, n_heads, concat=True)
        self.elu = nn.ELU()
        self.gat2 = GraphAttentionLayer(n_hidden, num_classes, 1)

    def forward(self, x, adj_mat):
        x = self.elu(self.gat1(x, adj_mat))
        return F.log_softmax(self.gat2(x, adj_mat), dim=1)


torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
features, labels, adj = community_graph()
idx = torch.randperm(len(labels))
idx_train, idx_test = idx[:60], idx[60:]
net = GAT(features.shape[1], 16, 4, 4)
optimizer = Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(40):
    net.train()
    optimizer.zero_grad()
    loss = F.nll_loss(net(features, adj)[idx_train], labels[idx_train])
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        net.eval()
        with torch.no_grad():
            output = net(features, adj)[idx_test]
        print(f"epoch {epoch} loss {loss.item():.5f} test {F.nll_loss(output, labels[idx_test]).item():.5f} "
              f"right {(output.argmax(1) == labels[idx_test]).sum().item()}")
