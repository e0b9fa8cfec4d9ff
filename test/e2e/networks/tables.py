"""A recommender like DLRM: embedding bags for the categories, a dense network for the numbers, and products of all pairs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS_OF_TABLES, BAG, NUMBERS = (23, 41, 17), 4, 7


class Recommender(nn.Module):
    def __init__(self, width=9):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for rows in ROWS_OF_TABLES)
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 20), nn.ReLU(), nn.Linear(20, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + 6, 22), nn.ReLU(), nn.Linear(22, 1))

    def forward(self, numbers, categories):
        dense = self.bottom(numbers)
        values = torch.stack([dense] + [bag(categories[:, i]) for i, bag in enumerate(self.bags)], 1)
        pairs = torch.bmm(values, values.transpose(1, 2))
        row, column = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([dense, pairs[:, row, column]], 1))[:, 0]
