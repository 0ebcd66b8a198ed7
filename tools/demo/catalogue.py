# SPDX-License-Identifier: GPL-2.0-or-later
"""Which trainings the demonstration submits, and what each asks of Slurm."""
from dataclasses import dataclass, field

# (name, program, arguments, iterations, cores, keys of --ml-quality beside iterations)
# Ordered so that the first wave to start has one of each algorithm, and later ones have families that are known by then.
_ENTRIES = (
    ("logreg-digits", "logistic_regression.py", "--data digits", 600, 4, {"family": "logreg"}),
    ("cnn-16", "cnn.py", "--channels 16", 24, 8, {"family": "cnn"}),
    ("svm-digits", "linear_svm.py", "--data digits", 600, 4, {"family": "svm"}),
    ("boost-digits", "gradient_boosting.py", "--data digits --rate 0.1", 60, 6, {"family": "boost"}),
    ("kmeans-160", "kmeans.py", "--clusters 160", 60, 4, {"family": "kmeans"}),
    ("mlp-128", "mlp.py", "--width 128", 40, 6, {"family": "mlp", "target": "95%"}),
    ("linreg-cubic", "linear_regression.py", "--degree 3", 4000, 2, {"family": "linreg"}),
    ("nmf-24", "nmf.py", "--rank 24", 300, 4, {"family": "nmf"}),
    ("lstm-48", "lstm.py", "--width 48", 40, 6, {"family": "lstm"}),
    ("mixture-12", "gaussian_mixture.py", "--components 12", 60, 4, {"family": "mixture", "goal": "max"}),
    ("topics-10", "topic_model.py", "--topics 10", 16, 4, {}),
    ("autoencoder-8", "autoencoder.py", "--code 8", 40, 6, {"family": "autoencoder"}),
    ("cnn-accuracy", "cnn.py", "--channels 12 --metric accuracy", 24, 8, {"goal": "max", "target": "0.97"}),
    ("logreg-slow", "logistic_regression.py", "--data digits --rate 0.00005", 600, 4, {"family": "logreg"}),
    ("boost-slow", "gradient_boosting.py", "--data digits --rate 0.03", 60, 6, {"family": "boost"}),
    ("mlp-accuracy", "mlp.py", "--width 64 --metric accuracy", 40, 4, {"goal": "max", "target": "0.95"}),
    ("nmf-48", "nmf.py", "--rank 48", 240, 6, {"family": "nmf"}),
    ("linreg-quadratic", "linear_regression.py", "--degree 2", 4000, 2, {"family": "linreg"}),
    ("kmeans-60", "kmeans.py", "--clusters 60", 90, 4, {"family": "kmeans"}),
    ("lstm-24", "lstm.py", "--width 24", 40, 4, {"family": "lstm"}),
    ("svm-slow", "linear_svm.py", "--data digits --rate 0.00002", 600, 4, {"family": "svm"}),
    ("mixture-24", "gaussian_mixture.py", "--components 24", 36, 6, {"family": "mixture", "goal": "max"}),
    ("autoencoder-4", "autoencoder.py", "--code 4", 40, 4, {"family": "autoencoder"}),
    ("cnn-8", "cnn.py", "--channels 8", 24, 8, {"family": "cnn"}),
)
LEAST, MOST = 16, 4 * len(_ENTRIES)


@dataclass(frozen=True)
class Training:
    """One job: cores and keys go to sbatch, the rest to the program."""
    name: str
    program: str
    arguments: tuple
    iterations: int
    cores: int
    keys: dict = field(default_factory=dict)

    def quality(self):
        """The value of --ml-quality."""
        return ",".join(f"{key}={value}" for key, value in self.keys.items())


def trainings(count, work):
    """The first `count` trainings (16 to 96), each with `work` times its usual iterations; beyond 24 the seed changes."""
    chosen = []
    for index in range(count):
        name, program, arguments, iterations, cores, keys = _ENTRIES[index % len(_ENTRIES)]
        seed = 1 + index // len(_ENTRIES)
        iterations = max(5, round(iterations * work))
        arguments = (*arguments.split(), "--iterations", str(iterations), "--seed", str(seed))
        keys = dict(keys, iterations=iterations) if index % 2 == 0 else keys
        chosen.append(Training(name if seed == 1 else f"{name}.{seed}", program, arguments, iterations, cores, keys))
    return chosen
