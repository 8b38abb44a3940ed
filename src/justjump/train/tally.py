"""Measures of predictions that come block by block and are not kept: for more nodes than memory holds."""

from __future__ import annotations

import numpy as np

from justjump.data.labels import Task, known
from justjump.train.measures import Values, measure, measures_of

# Up to this number of predicted values, all are kept, and the measures are scikit-learn's to the last digit.
KEPT = 2**23
# Probabilities are counted in bins by the highest bits of a float32: 32 bins for each power of two, and as many on the
# other side of 1/2. So ROC-AUC and average precision keep their first three digits, also where most are close to 0.
_SHIFT = 18
_HALF = int(np.float32(0.5).view(np.int32)) >> _SHIFT
BINS = 2 * (_HALF + 1)


class Tally:
    """The measures of a task over some nodes, given block by block.

    Args:
        task: what the labels are
        outputs: number of classes, labels or targets

    >>> tally = Tally("regression", 1)
    >>> tally.add(np.array([[1.0], [2.0]], np.float32), np.array([[1.0], [3.0]], np.float32))
    >>> tally.values()["mae"], tally.count
    (0.5, 2)
    """

    def __init__(self, task: Task, outputs: int) -> None:
        self.task, self.outputs, self.count = task, outputs, 0
        self._kept: list[tuple[np.ndarray, np.ndarray]] | None = []
        self._sums = _Numbers(outputs) if task == "regression" else _Classes(outputs)

    def add(self, labels: np.ndarray, predicted: np.ndarray) -> None:
        """Labels as of a graph, of which unknown ones do not count, and predictions ``[k, C]``."""
        rows = known(labels)
        labels, predicted = labels[rows], predicted[rows]
        self.count += len(labels)
        if self._kept is None:
            self._sum(labels, predicted)
            return
        self._kept.append((labels.copy(), predicted.copy()))
        if self.count * self.outputs > KEPT:
            for block in self._kept:
                self._sum(*block)
            self._kept = None

    def values(self) -> Values:
        """The measures of all that was added; None where one is not defined."""
        if not self.count:
            return dict.fromkeys(measures_of(self.task))
        if self._kept is not None:
            labels, predicted = (np.concatenate(blocks) for blocks in zip(*self._kept, strict=True))
            return measure(self.task, labels, predicted)
        if isinstance(self._sums, _Numbers):
            return self._sums.values()
        return self._sums.of_classes() if self.task == "multiclass" else self._sums.of_labels()

    def _sum(self, labels: np.ndarray, predicted: np.ndarray) -> None:
        if self.task != "multiclass":
            self._sums.add(labels, predicted)
            return
        assert isinstance(self._sums, _Classes)
        truth = np.zeros(predicted.shape, np.float32)
        truth[np.arange(len(labels)), labels] = 1
        self._sums.add(truth, predicted)
        self._sums.add_classes(labels, predicted)


class _Classes:
    """Counts of probabilities, of right and of wrong predictions."""

    def __init__(self, outputs: int) -> None:
        self.bins = np.zeros((2, outputs, BINS), np.int64)  # [0 or 1 is true, class, bin]
        self.hits, self.predicted, self.loss = np.zeros(outputs), np.zeros(outputs), np.zeros(outputs)
        self.right, self.said, self.log_loss = np.zeros(outputs), np.zeros(outputs), 0.0  # of one class per node

    def add(self, truth: np.ndarray, predicted: np.ndarray) -> None:
        """0, 1 or NaN, and probabilities, ``[k, C]`` both."""
        for column in range(truth.shape[1]):
            there = ~np.isnan(truth[:, column])
            ones, share = truth[there, column] == 1, predicted[there, column]
            place = _place(share)
            for value in (0, 1):
                self.bins[value, column] += np.bincount(place[ones == value], minlength=BINS)
            said = share > 0.5
            self.hits[column] += (said & ones).sum()
            self.predicted[column] += said.sum()
            self.loss[column] -= _logarithm(np.where(ones, share, 1 - share.astype(np.float64))).sum()

    def add_classes(self, labels: np.ndarray, predicted: np.ndarray) -> None:
        """Classes ``[k]``, and their probabilities ``[k, C]``: what is said is the class with the largest one."""
        said, outputs = predicted.argmax(axis=1), predicted.shape[1]
        exact = predicted.astype(np.float64)
        self.log_loss -= float(_logarithm(exact[np.arange(len(labels)), labels] / exact.sum(axis=1)).sum())
        self.said += np.bincount(said, minlength=outputs)
        self.right += np.bincount(labels[said == labels], minlength=outputs)

    def of_classes(self) -> Values:
        counts = self.bins.sum(axis=2)
        there, total = counts[1], float(counts[:, 0].sum())
        present = there > 0
        seen = present | (self.said > 0)
        f1 = 2 * self.right[seen] / (there + self.said)[seen]
        curves = [_curves(*self.bins[:, one]) for one in np.flatnonzero(present)]
        several = len(curves) > 1
        return {
            "accuracy": float(self.right.sum()) / total,
            "balanced_accuracy": float((self.right[present] / there[present]).mean()),
            "macro_f1": float(f1.mean()),
            "roc_auc": float(np.mean([auc for auc, _ in curves])) if several else None,
            "average_precision": float(np.mean([precision for _, precision in curves])) if several else None,
            "log_loss": self.log_loss / total,
        }

    def of_labels(self) -> Values:
        zeros, ones = self.bins.sum(axis=2)
        there = zeros + ones > 0
        mixed = np.flatnonzero((zeros > 0) & (ones > 0))
        hits, said = self.hits, self.predicted
        right = hits + zeros - (said - hits)
        recalls = np.stack([_share(hits, ones), _share(zeros - (said - hits), zeros)])
        f1 = np.nan_to_num(_share(2 * hits, ones + said))
        curves = [_curves(*self.bins[:, one]) for one in mixed]
        total = (zeros + ones).sum()
        return {
            "accuracy": float(right.sum() / total),
            "balanced_accuracy": float(np.nanmean(recalls[:, there], axis=0).mean()),
            "macro_f1": float(f1[there].mean()),
            "roc_auc": float(np.mean([auc for auc, _ in curves])) if curves else None,
            "average_precision": float(np.mean([precision for _, precision in curves])) if curves else None,
            "log_loss": float(self.loss.sum() / total),
        }


class _Numbers:
    """Sums of errors, and of the targets around their means, by target."""

    def __init__(self, outputs: int) -> None:
        self.count, self.mean, self.around = np.zeros(outputs), np.zeros(outputs), np.zeros(outputs)
        self.absolute, self.square = np.zeros(outputs), np.zeros(outputs)

    def add(self, labels: np.ndarray, predicted: np.ndarray) -> None:
        there = ~np.isnan(labels)
        count = there.sum(axis=0)
        some = np.maximum(count, 1)
        truth = np.nan_to_num(labels.astype(np.float64))
        error = np.where(there, predicted.astype(np.float64) - truth, 0)
        self.absolute += np.abs(error).sum(axis=0)
        self.square += (error**2).sum(axis=0)
        mean = truth.sum(axis=0) / some
        around = (np.where(there, truth - mean, 0) ** 2).sum(axis=0)
        total = np.maximum(self.count + count, 1)
        self.around += around + (mean - self.mean) ** 2 * self.count * count / total  # Chan et al.
        self.mean += (mean - self.mean) * count / total
        self.count += count

    def values(self) -> Values:
        there = self.count > 0
        several = self.count > 1
        mae, mse = _share(self.absolute, self.count), _share(self.square, self.count)
        constant = np.where(self.square > 0, 0.0, 1.0)  # as scikit-learn says of targets that are all equal
        r2 = np.where(self.around > 0, 1 - _share(self.square, self.around), constant)
        return {
            "mae": float(mae[there].mean()),
            "rmse": float(np.sqrt(mse[there]).mean()),
            "r2": float(r2[several].mean()) if several.any() else None,
        }


def _place(share: np.ndarray) -> np.ndarray:
    """The bin of each probability: they ascend with it."""
    share = np.clip(share.astype(np.float32), 0, 1)
    low = share <= 0.5
    near = np.where(low, share, 1 - share.astype(np.float64)).astype(np.float32)
    place = near.view(np.int32) >> _SHIFT
    return np.where(low, place, BINS - 1 - place)


def _curves(zeros: np.ndarray, ones: np.ndarray) -> tuple[float, float]:
    """ROC-AUC and average precision, given how many zeros and ones are in each bin; those of one bin count as equal."""
    below = np.cumsum(zeros) - zeros
    total = float(ones.sum()) * float(zeros.sum())
    auc = float((ones * (below + zeros / 2)).sum()) / total if total else 1.0
    hits, said = np.cumsum(ones[::-1]), np.cumsum((ones + zeros)[::-1])
    precision = float((ones[::-1] * _share(hits, said, 0.0)).sum()) / float(ones.sum())
    return auc, precision


def _share(part: np.ndarray, whole: np.ndarray, otherwise: float = np.nan) -> np.ndarray:
    """Their quotient where there is one."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), otherwise)


def _logarithm(share: np.ndarray) -> np.ndarray:
    """Of probabilities that are not quite 0, as scikit-learn takes them."""
    least = np.finfo(np.float64).eps
    return np.asarray(np.log(np.clip(share.astype(np.float64), least, 1 - least)))
