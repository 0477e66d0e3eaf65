"""A citation-like graph: communities whose members mostly cite each other."""
import torch


def community_graph(nodes=120, classes=4, features=24):
    """Features (nodes, features), labels, and a symmetric adjacency matrix with self-loops."""
    labels = torch.arange(nodes) % classes
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    links = torch.rand(nodes, nodes) < torch.where(same, 0.12, 0.015)
    adjacency = (links | links.T).float()
    adjacency.fill_diagonal_(1.0)
    prototypes = torch.rand(classes, features)
    x = (torch.rand(nodes, features) < 0.7 * prototypes[labels]).float()
    x = x / x.sum(1, keepdim=True).clamp(min=1)
    return x, labels, adjacency
