# Copyright (c) the mlo authors. BSD-3-Clause.
# Made by python/make_stubs.py from the table of options; a test compares.
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__version__: str
__all__: list[str]

_Path = str | os.PathLike[str]
_Progress = bool | Callable[[dict[str, Any]], object] | None
_Numbers = Sequence[float] | npt.NDArray[Any]

class Error(Exception):
    what: str
    where: str
    remedy: str
    row: int | None
class UsageError(Error, ValueError): ...
class DataError(Error, ValueError): ...
class ModelError(Error, ArithmeticError): ...

class Fit:
    def __init__(self, core: Any) -> None: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def draws(self) -> npt.NDArray[np.float64]: ...
    def __getitem__(self, name: str) -> npt.NDArray[np.float64]: ...
    def __contains__(self, name: Any) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...
    def summary(self) -> Any: ...
    @property
    def effects(self) -> npt.NDArray[np.float32] | None: ...
    def groups(self, group: str | None = ...) -> Any: ...
    @property
    def title(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def method(self) -> SimpleNamespace: ...
    @property
    def promise(self) -> str: ...
    @property
    def seconds(self) -> SimpleNamespace: ...
    @property
    def holdout(self) -> dict[str, Any] | None: ...
    @property
    def noise(self) -> dict[str, Any]: ...
    @property
    def audit(self) -> dict[str, Any] | None: ...
    @property
    def rows(self) -> SimpleNamespace: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    @property
    def formula(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...
    def predict(self, data: Any, *, type: str = ..., interval: float = ..., missing: str = ..., new_levels: str = ..., seed: int | None = ..., threads: int = ..., progress: _Progress = ..., **reading: Any) -> Any: ...
    def save(self, directory: Any) -> None: ...
    def to_netcdf(self, file: Any) -> None: ...
    def report(self, file: Any = ...) -> str: ...
    def to_arviz(self) -> Any: ...
    def plot(self, kind: str = ..., parameters: Any = ..., **keywords: Any) -> Any: ...

class Description:
    info: dict[str, Any]
    def __init__(self, found: dict[str, Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> Any: ...
    @property
    def design(self) -> dict[str, Any] | None: ...

class Comparison:
    info: dict[str, Any]
    def __init__(self, found: dict[str, Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def _repr_svg_(self) -> str: ...
    @property
    def svg(self) -> str: ...
    @property
    def interrupted(self) -> bool: ...
    def summary(self) -> Any: ...

class Model:
    rows: int
    dim: int
    names: list[str]
    def __init__(self, log_likelihoods: Any, rows: int, dim: int, *, log_prior: Any = ..., gradients: Any = ..., names: Any = ..., start: Any = ..., sizes: Any = ...) -> None: ...

class Kernel:
    model: Model
    def __init__(self, core: Any, model: Model) -> None: ...
    def step(self) -> SimpleNamespace: ...
    def freeze(self) -> None: ...
    @property
    def theta(self) -> npt.NDArray[np.float64]: ...
    @theta.setter
    def theta(self, value: Any) -> None: ...
    @property
    def steps(self) -> int: ...
    @property
    def promise(self) -> str: ...

def fit(
    formula: str, data: Any = ..., *, progress: _Progress = ...,
    family: str | None = ...,
    base: str | None = ...,
    prior: str | None = ...,
    prior_intercept: str | None = ...,
    prior_for: Mapping[str, str] | None = ...,
    prior_sd: str | None = ...,
    prior_cor: str | None = ...,
    sql: str | None = ...,
    known_sigma: float | None = ...,
    known_mean: float | None = ...,
    freedom: float | None = ...,
    phi: float | None = ...,
    size: float | None = ...,
    zi: float | None = ...,
    shape: float | None = ...,
    scale: Literal["none", "sd", "standard"] | None = ...,
    missing: Literal["drop", "error"] | None = ...,
    holdout: float | None = ...,
    save_groups: Literal["yes", "no", "summary"] | None = ...,
    max_levels: int | None = ...,
    row_weights: str | None = ...,
    trials: str | None = ...,
    delimiter: str | None = ...,
    decimal: Literal[".", ","] | None = ...,
    comment: str | None = ...,
    na: str | Sequence[str] | None = ...,
    type: Mapping[str, str] | None = ...,
    method: str | None = ...,
    subsample_size: int | None = ...,
    max_subsample_size: int | None = ...,
    delta: float | None = ...,
    estimator: Literal["plain", "control-variates"] | None = ...,
    weights: Literal["uniform", "mlo", "score", "remainder"] | None = ...,
    weights_at: str | _Numbers | None = ...,
    uniform_share: float | None = ...,
    replacement: Literal["yes", "no"] | bool | None = ...,
    noise_sd: float | None = ...,
    bound: Literal["bernstein", "hoeffding"] | None = ...,
    blocks: int | None = ...,
    shards: int | None = ...,
    bandwidth: float | None = ...,
    thinning: Literal["balanced", "factorised"] | None = ...,
    order: int | None = ...,
    audit: bool | None = ...,
    audit_every: int | None = ...,
    proposal: Literal["laplace", "random-walk", "adaptive", "gamma"] | None = ...,
    proposal_scale: float | None = ...,
    proposal_shape: Literal["laplace", "identity"] | None = ...,
    start: Literal["laplace", "mode"] | None = ...,
    chains: int | None = ...,
    warmup: int | None = ...,
    draws: int | None = ...,
    thin: int | None = ...,
    seed: int | None = ...,
    threads: int | None = ...,
    out: _Path | None = ...,
    format: str | None = ...,
    resume: bool | None = ...,
    report: bool | None = ...,
) -> Fit: ...
def describe(
    data: Any = ..., formula: str | None = ..., *, progress: _Progress = ...,
    family: str | None = ...,
    base: str | None = ...,
    prior: str | None = ...,
    prior_intercept: str | None = ...,
    prior_for: Mapping[str, str] | None = ...,
    prior_sd: str | None = ...,
    prior_cor: str | None = ...,
    sql: str | None = ...,
    known_sigma: float | None = ...,
    known_mean: float | None = ...,
    freedom: float | None = ...,
    phi: float | None = ...,
    size: float | None = ...,
    zi: float | None = ...,
    shape: float | None = ...,
    scale: Literal["none", "sd", "standard"] | None = ...,
    missing: Literal["drop", "error"] | None = ...,
    holdout: float | None = ...,
    save_groups: Literal["yes", "no", "summary"] | None = ...,
    max_levels: int | None = ...,
    row_weights: str | None = ...,
    trials: str | None = ...,
    delimiter: str | None = ...,
    decimal: Literal[".", ","] | None = ...,
    comment: str | None = ...,
    na: str | Sequence[str] | None = ...,
    type: Mapping[str, str] | None = ...,
    seed: int | None = ...,
) -> Description: ...
def compare_methods(
    formula: str, data: Any = ..., methods: Any = ..., *, seconds: float = ..., reference_draws: int = ..., progress: _Progress = ...,
    family: str | None = ...,
    base: str | None = ...,
    prior: str | None = ...,
    prior_intercept: str | None = ...,
    prior_for: Mapping[str, str] | None = ...,
    prior_sd: str | None = ...,
    prior_cor: str | None = ...,
    sql: str | None = ...,
    known_sigma: float | None = ...,
    known_mean: float | None = ...,
    freedom: float | None = ...,
    phi: float | None = ...,
    size: float | None = ...,
    zi: float | None = ...,
    shape: float | None = ...,
    scale: Literal["none", "sd", "standard"] | None = ...,
    missing: Literal["drop", "error"] | None = ...,
    holdout: float | None = ...,
    save_groups: Literal["yes", "no", "summary"] | None = ...,
    max_levels: int | None = ...,
    row_weights: str | None = ...,
    trials: str | None = ...,
    delimiter: str | None = ...,
    decimal: Literal[".", ","] | None = ...,
    comment: str | None = ...,
    na: str | Sequence[str] | None = ...,
    type: Mapping[str, str] | None = ...,
    chains: int | None = ...,
    warmup: int | None = ...,
    draws: int | None = ...,
    seed: int | None = ...,
    threads: int | None = ...,
    format: str | None = ...,
    report: bool | None = ...,
) -> Comparison: ...
def sample(
    model: Model, method: str = ..., *, weights: Any = ..., progress: _Progress = ...,
    subsample_size: int | None = ...,
    max_subsample_size: int | None = ...,
    delta: float | None = ...,
    weights_at: str | _Numbers | None = ...,
    uniform_share: float | None = ...,
    replacement: Literal["yes", "no"] | bool | None = ...,
    noise_sd: float | None = ...,
    proposal: Literal["laplace", "random-walk", "adaptive", "gamma"] | None = ...,
    proposal_scale: float | None = ...,
    proposal_shape: Literal["laplace", "identity"] | None = ...,
    start: Literal["laplace", "mode"] | None = ...,
    chains: int | None = ...,
    warmup: int | None = ...,
    draws: int | None = ...,
    thin: int | None = ...,
    seed: int | None = ...,
    threads: int | None = ...,
    format: str | None = ...,
    report: bool | None = ...,
) -> Fit: ...
def kernel(
    model: Model, method: str = ..., *, weights: Any = ..., chain: int = ...,
    subsample_size: int | None = ...,
    max_subsample_size: int | None = ...,
    delta: float | None = ...,
    weights_at: str | _Numbers | None = ...,
    uniform_share: float | None = ...,
    replacement: Literal["yes", "no"] | bool | None = ...,
    noise_sd: float | None = ...,
    proposal: Literal["laplace", "random-walk", "adaptive", "gamma"] | None = ...,
    proposal_scale: float | None = ...,
    proposal_shape: Literal["laplace", "identity"] | None = ...,
    start: Literal["laplace", "mode"] | None = ...,
    chains: int | None = ...,
    warmup: int | None = ...,
    draws: int | None = ...,
    thin: int | None = ...,
    seed: int | None = ...,
    threads: int | None = ...,
    format: str | None = ...,
    report: bool | None = ...,
) -> Kernel: ...
def load(directory: Any) -> Fit: ...
def resume(directory: Any, data: Any = ..., *, threads: int = ..., progress: _Progress = ...) -> Fit: ...
def simulate(family: str = ..., rows: int = ..., coefficients: Any = ..., *, intercept: float = ..., correlation: float = ..., groups: Any = ..., seed: int = ..., **numbers: Any) -> Any: ...
def methods() -> Any: ...
def families() -> Any: ...
