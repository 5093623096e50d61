# SPDX-License-Identifier: MIT
"""A step of training in PyTorch and in ria (ria_bench --only train): 16 places x 4 pictures of
224 x 224, ViT-S/14 with random weights, last 4 of 12 blocks trained, four covariance heads,
multi-similarity loss, AdamW. The two take turns; the best of each counts. Time of all cores together
(cpu) says more than that of the clock where others use the machine too."""
import argparse
import json
import os
import subprocess
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # of both: a shared machine has other use for its cores

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.ls1, self.ls2 = nn.Parameter(torch.full((dim,), 0.3)), nn.Parameter(torch.full((dim,), 0.3))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = ((q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)).softmax(-1)
        x = x + self.ls1 * self.proj((a @ v).transpose(1, 2).reshape(b, n, c))
        return x + self.ls2 * self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Network(nn.Module):
    def __init__(self, dim=384, depth=12, heads=6, trained=4, ria_heads=4, d=64, out=520):
        super().__init__()
        self.trained, self.ria_heads, self.d = trained, ria_heads, d
        self.embed = nn.Conv2d(3, dim, 14, 14)
        self.start = nn.Parameter(torch.randn(1, 257, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.projection = nn.Linear(dim, ria_heads * d, bias=False)
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(d * (d + 1) // 2, 2 * out), nn.GELU(), nn.Linear(2 * out, out))
            for _ in range(ria_heads))
        upper = torch.triu_indices(d, d, 1)
        self.upper = upper[0] * d + upper[1]

    def root(self, x):
        x = x - x.mean(-2, keepdim=True)
        eye = torch.eye(self.d)
        c = x.transpose(-2, -1) @ x / (x.shape[-2] - 1)
        c = c * ((c.abs() > 1e-5) | (eye > 0)) + 1e-4 * eye
        norm = c.flatten(-2).norm(dim=-1)[..., None, None]
        y, z = c / norm, eye.expand_as(c)
        for _ in range(3):
            t = 0.5 * (3 * eye - z @ y)
            y, z = y @ t, t @ z
        return y * norm.sqrt()

    def forward(self, pixels):
        with torch.no_grad():
            x = self.embed(pixels).flatten(2).transpose(1, 2)
            x = torch.cat([torch.zeros_like(x[:, :1]), x], 1) + self.start
            for block in self.blocks[:-self.trained]:
                x = block(x)
        for block in self.blocks[-self.trained:]:
            x = block(x)
        x = F.normalize(self.norm(x[:, 1:]), dim=-1)
        b, n, _ = x.shape
        m = self.root(self.projection(x).view(b, n, self.ria_heads, self.d).transpose(1, 2))
        diagonal = m.diagonal(dim1=-2, dim2=-1)
        v = torch.cat([diagonal, 2 ** 0.5 * m.flatten(-2)[..., self.upper]], -1)
        return F.normalize(torch.cat([mlp(v[:, h]) for h, mlp in enumerate(self.mlps)], -1), dim=-1)


def loss_of(e, labels):
    s = e @ e.t()
    same = labels[:, None] == labels[None]
    positive, negative = same & ~torch.eye(len(labels), dtype=torch.bool), ~same
    with torch.no_grad():
        most = s.masked_fill(same, -torch.inf).max(1, keepdim=True)[0]
        least = s.masked_fill(~positive, torch.inf).min(1, keepdim=True)[0]
        positive, negative = positive & (s - 0.1 < most), negative & (s + 0.1 > least)
    zero = torch.zeros(len(labels), 1)
    attract = torch.logsumexp(torch.cat([(-s).masked_fill(~positive, -torch.inf), zero], 1), 1)
    repel = torch.logsumexp(torch.cat([(50 * s).masked_fill(~negative, -torch.inf), zero], 1), 1)
    return (attract + repel / 50).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ria", required=True, help="the program ria_bench")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    network = Network()
    trained = [p for part in (network.blocks[-4:], network.norm, network.projection, network.mlps)
               for p in part.parameters()]
    optimizer = torch.optim.AdamW(trained, lr=6e-5, weight_decay=9.5e-9)
    pixels, labels = torch.randn(64, 3, 224, 224), torch.arange(64) // 4

    def step():
        start, cpu = time.perf_counter(), time.process_time()
        loss = loss_of(network(pixels), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return time.perf_counter() - start, time.process_time() - cpu

    steps, ria = [], {}
    for turn in range(given.turns):
        steps += [step() for _ in range(given.rounds + (turn == 0))]
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run([given.ria, "--only", "train", "--rounds", str(given.rounds), "--json", file.name],
                           check=True, stdout=subprocess.DEVNULL)
            for key, value in json.load(open(file.name)).items():
                ria[key] = min(value, ria.get(key, value))
    best, cpu = (1e3 * min(times) for times in zip(*steps))
    figures = {**ria, "python_torch_step_ms": best, "python_torch_step_cpu_ms": cpu,
               "train_step_over_python_torch": best / ria["train_step_ms"],
               "train_step_cpu_over_python_torch": cpu / ria["train_step_cpu_ms"]}
    for key, value in figures.items():
        print(f"{key:<42} {value:.4g}")
    if given.json:
        with open(given.json, "w") as file:
            json.dump(figures, file, indent=2)


main()
