"""Estimators in scikit-learn's style."""

from sklearn.exceptions import NotFittedError

from justjump.estimator.classifier import DNAClassifier
from justjump.estimator.regressor import DNARegressor

__all__ = ["DNAClassifier", "DNARegressor", "NotFittedError"]
