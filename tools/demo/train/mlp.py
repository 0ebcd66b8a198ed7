#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A perceptron with two hidden layers (PyTorch); cross entropy, or with --metric accuracy the held-out accuracy."""
import torch_loop
from common import digits, options, split
from torch import nn

args = options(__doc__, iterations=40, metric=("loss", "accuracy"), width=128, rate=0.0005, batch=64)
torch_loop.start(args.seed)
images, labels = digits(shifted=True)
trained, held_out = (torch_loop.tensors(*part) for part in split(images, labels, args.seed))
model = nn.Sequential(nn.Flatten(), nn.Linear(64, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(),
                      nn.Linear(args.width, 10))
torch_loop.train(model, *trained, nn.CrossEntropyLoss(), args.iterations, args.rate, args.batch,
                 torch_loop.accuracy(*held_out) if args.metric == "accuracy" else None)
