#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An autoencoder (PyTorch) that squeezes images of digits through a few numbers; loss: mean squared error."""
import torch_loop
from common import digits, options
from torch import nn

args = options(__doc__, iterations=40, code=8, width=96, rate=0.001, batch=64)
torch_loop.start(args.seed)
images, labels = torch_loop.tensors(*digits(shifted=True))
pixels = images.flatten(1)
model = nn.Sequential(nn.Linear(64, args.width), nn.ReLU(), nn.Linear(args.width, args.code),
                      nn.Linear(args.code, args.width), nn.ReLU(), nn.Linear(args.width, 64), nn.Sigmoid())
torch_loop.train(model, pixels, pixels, nn.MSELoss(), args.iterations, args.rate, args.batch)
