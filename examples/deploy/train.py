"""Trains a small network and saves it as a program that runs without its source: ``python train.py model.fgp``."""

import sys

import ferrograd as fg
import ferrograd.torch as torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(256, 16)
target = x[:, :4].argmax(1)
for _ in range(50):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), target).backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    compiled = fg.compile(lambda rows: torch.softmax(model(rows), 1))
    compiled.save(sys.argv[1], torch.zeros(1, 16))
