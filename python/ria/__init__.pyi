# SPDX-License-Identifier: MIT
# The types of `ria`; tests/python/stubs_test.py compares them with the module.
from os import PathLike
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Union, overload

import numpy as np
from numpy.typing import NDArray

__version__: str

_Path = Union[str, PathLike[str]]
_Pixels = NDArray[np.uint8]
_Floats = NDArray[np.float32]
_Answers = Tuple[NDArray[np.int32], NDArray[np.float32]]
_Progress = Optional[Callable[[int, int], object]]
_Format = Literal["", "grey", "rgb", "bgr", "rgba", "bgra"]
_Storage = Literal["float", "half", "int8"]
_Condition = Literal["day", "night", "rain", "season"]

class Interrupted(RuntimeError): ...

class MethodOptions:
    def __init__(
        self,
        *,
        d: int = ...,
        projection: str = ...,
        seed: int = ...,
        shrinkage: float = ...,
        normalize_patches: bool = ...,
        estimator: str = ...,
        tau: float = ...,
        eps: float = ...,
        mapping: str = ...,
        iterations: int = ...,
        alpha: float = ...,
        p: float = ...,
        gem_sign: str = ...,
        gem_eps: float = ...,
        clusters: int = ...,
        vocabulary: _Path = ...,
        vlad_soft: bool = ...,
        soft_temperature: float = ...,
        intra_normalize: bool = ...,
        weights: _Path = ...,
        cut: str = ...,
        precision: Literal["fp32", "int8", "bf16"] = ...,
        layer: int = ...,
        facet: Literal["token", "query", "key", "value"] = ...,
        position_rule: str = ...,
        stride: int = ...,
        final_norm: bool = ...,
        onnx_output: str = ...,
        onnx_layout: str = ...,
        onnx_normalization: str = ...,
        onnx_leading_tokens: int = ...,
        onnx_multiple: int = ...,
        center: bool = ...,
        pca: int = ...,
        whiten: bool = ...,
        fit_folder: _Path = ...,
        rerank: Literal["none", "patches", "local"] = ...,
        rerank_depth: int = ...,
        rerank_d: int = ...,
        rerank_tolerance: float = ...,
        rerank_cosine_weight: float = ...,
        rerank_seed: int = ...,
        longest_side: int = ...,
        shortest_side: int = ...,
        image_size: Sequence[int] = ...,
        native_size: bool = ...,
        round_size: bool = ...,
        cross_image: int = ...,
        resize: str = ...,
        ignore_orientation: bool = ...,
    ) -> None: ...
    def as_dict(self) -> Dict[str, Any]: ...

class Place:
    name: str
    stamp: float
    x: float
    y: float
    utm_zone: int
    heading: float
    def __init__(
        self, *, name: str = ..., stamp: float = ..., x: float = ..., y: float = ..., utm_zone: int = ..., heading: float = ...
    ) -> None: ...

class MapHeader:
    method: str
    options: str
    weights_sha256: str
    ria_version: str
    dim: int
    def __init__(
        self, *, method: str = ..., options: str = ..., weights_sha256: str = ..., ria_version: str = ..., dim: int = ...
    ) -> None: ...

class Map:
    def __init__(self, header: MapHeader, storage: _Storage = ...) -> None: ...
    @staticmethod
    def open(file: _Path, write: bool = ...) -> Map: ...
    @staticmethod
    def create(file: _Path, header: MapHeader, storage: _Storage = ...) -> Map: ...
    @property
    def header(self) -> MapHeader: ...
    @property
    def storage(self) -> _Storage: ...
    @property
    def file(self) -> Path: ...
    @property
    def end(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> Place: ...
    def __iter__(self) -> Iterator[int]: ...
    def place(self, number: int) -> Place: ...
    def items(self) -> List[Tuple[int, Place]]: ...
    def find(self, name: str) -> List[int]: ...
    def descriptors(self, places: Sequence[int]) -> _Floats: ...
    def search(
        self,
        queries: NDArray[Any],
        k: int = ...,
        *,
        before: int = ...,
        allowed: Optional[Callable[[int], bool]] = ...,
    ) -> _Answers: ...
    def scores(self, query: NDArray[Any]) -> _Answers: ...
    def check(self) -> List[str]: ...
    def add(self, descriptors: NDArray[Any], places: Sequence[Union[str, Place]]) -> int: ...
    def remove(self, places: Sequence[int]) -> None: ...
    def merge(self, other: Map) -> int: ...
    def refresh(self) -> bool: ...
    def save(self, file: _Path, storage: _Storage = ...) -> None: ...

class Failure:
    @property
    def picture(self) -> int: ...
    @property
    def file(self) -> str: ...
    @property
    def reason(self) -> str: ...

class PatchFeatures:
    @property
    def patches(self) -> _Floats: ...
    @property
    def class_token(self) -> _Floats: ...
    @property
    def grid(self) -> Tuple[int, int]: ...

class DescribedPicture:
    @property
    def descriptor(self) -> _Floats: ...

class Descriptions:
    @property
    def descriptors(self) -> _Floats: ...
    @property
    def names(self) -> List[str]: ...
    @property
    def image_sizes(self) -> List[List[int]]: ...
    @property
    def failures(self) -> List[Failure]: ...
    @property
    def seconds(self) -> Dict[str, float]: ...
    def without_failures(self) -> Descriptions: ...
    def __len__(self) -> int: ...

class Method:
    @property
    def name(self) -> str: ...
    @property
    def backbone(self) -> str: ...
    @property
    def aggregator(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def paper(self) -> str: ...
    @property
    def weights(self) -> str: ...
    @property
    def dim(self) -> int: ...

class Recognizer:
    @overload
    def __init__(self, method: str, options: Optional[MethodOptions] = ..., **keywords: Any) -> None: ...
    @overload
    def __init__(self, map: Map, weights: _Path = ...) -> None: ...
    @property
    def method(self) -> Method: ...
    @property
    def options(self) -> Dict[str, Any]: ...
    @property
    def dim(self) -> int: ...
    @property
    def header(self) -> MapHeader: ...
    @overload
    def describe(self, picture: _Path) -> _Floats: ...
    @overload
    def describe(
        self,
        pictures: Sequence[_Path],
        *,
        num_threads: int = ...,
        progress: _Progress = ...,
        resume: bool = ...,
        relative_to: Optional[_Path] = ...,
        feature_cache: Optional[_Path] = ...,
    ) -> Descriptions: ...
    @overload
    def describe(self, picture: _Pixels, format: _Format = ...) -> _Floats: ...
    def describe_whole(self, picture: _Pixels, format: _Format = ...) -> DescribedPicture: ...
    @overload
    def features(self, picture: _Path) -> PatchFeatures: ...
    @overload
    def features(self, picture: _Pixels, format: _Format = ...) -> PatchFeatures: ...
    def fit(
        self,
        pictures: Sequence[_Path],
        *,
        num_threads: int = ...,
        progress: _Progress = ...,
        resume: bool = ...,
        feature_cache: Optional[_Path] = ...,
    ) -> None: ...
    def finish(self, described: Descriptions, database: Optional[int] = ...) -> Descriptions: ...
    @overload
    def map(self, described: Descriptions) -> Map: ...
    @overload
    def map(
        self,
        pictures: Sequence[_Path],
        *,
        num_threads: int = ...,
        progress: _Progress = ...,
        resume: bool = ...,
        relative_to: Optional[_Path] = ...,
        feature_cache: Optional[_Path] = ...,
    ) -> Map: ...
    def add(self, described: Descriptions, map: Map) -> int: ...
    def search(
        self, map: Map, queries: Descriptions, k: int = ..., *, num_threads: int = ..., progress: _Progress = ...
    ) -> _Answers: ...

class LoopOptions:
    recent: int
    recent_seconds: float
    decision: float
    candidates: int
    same_view: float
    max_places: int
    odometry_reach: float
    odometry_drift: float
    keep: bool
    num_threads: int
    def __init__(
        self,
        *,
        recent: int = ...,
        recent_seconds: float = ...,
        decision: float = ...,
        candidates: int = ...,
        same_view: float = ...,
        max_places: int = ...,
        odometry_reach: float = ...,
        odometry_drift: float = ...,
        keep: bool = ...,
        num_threads: int = ...,
    ) -> None: ...

class Pose:
    position: List[float]
    rotation: List[float]
    def __init__(self, *, position: Sequence[float] = ..., rotation: Sequence[float] = ...) -> None: ...

class LoopEvidence:
    @property
    def cosine(self) -> float: ...
    @property
    def agreement(self) -> float: ...
    @property
    def rival(self) -> float: ...
    @property
    def expected(self) -> float: ...

class LoopResult:
    @property
    def loop(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def place(self) -> int: ...
    @property
    def place_name(self) -> str: ...
    @property
    def probability(self) -> float: ...
    @property
    def down(self) -> float: ...
    @property
    def right(self) -> float: ...
    @property
    def scale(self) -> float: ...
    @property
    def kept_as(self) -> int: ...
    @property
    def evidence(self) -> LoopEvidence: ...
    @property
    def ms(self) -> Dict[str, float]: ...

class LoopCloser:
    def __init__(
        self, map_file: _Path = ..., method: str = ..., options: Optional[LoopOptions] = ..., **keywords: Any
    ) -> None: ...
    @overload
    def add(
        self, picture: Union[_Path, DescribedPicture], *, name: str = ..., stamp: float = ..., odometry: Optional[Pose] = ...
    ) -> LoopResult: ...
    @overload
    def add(
        self,
        picture: _Pixels,
        *,
        name: str = ...,
        stamp: float = ...,
        odometry: Optional[Pose] = ...,
        format: _Format = ...,
    ) -> LoopResult: ...
    @property
    def map(self) -> Map: ...
    @property
    def recognizer(self) -> Recognizer: ...
    @property
    def options(self) -> LoopOptions: ...

class Dataset:
    name: str
    database: List[Path]
    queries: List[Path]
    positives: List[List[int]]
    remarks: List[str]
    def __init__(
        self,
        *,
        name: str = ...,
        database: Sequence[_Path] = ...,
        queries: Sequence[_Path] = ...,
        positives: Sequence[Sequence[int]] = ...,
        remarks: Sequence[str] = ...,
    ) -> None: ...

class DatasetInfo:
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def tests(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def layouts(self) -> List[str]: ...

class DatasetOptions:
    positive_dist_threshold: float
    frame_tolerance: Optional[int]
    max_angle: float
    split: str
    query_set: str
    images_folder: Path
    def __init__(
        self,
        *,
        positive_dist_threshold: float = ...,
        frame_tolerance: Optional[int] = ...,
        max_angle: float = ...,
        split: str = ...,
        query_set: str = ...,
        images_folder: _Path = ...,
    ) -> None: ...

class Evaluation:
    @property
    def method(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def queries(self) -> int: ...
    @property
    def database(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def recall(self) -> Dict[int, float]: ...
    @property
    def interval(self) -> Dict[int, Tuple[float, float]]: ...
    @property
    def average_precision(self) -> float: ...
    @property
    def seconds(self) -> Dict[str, float]: ...
    @property
    def options(self) -> Dict[str, Any]: ...
    @property
    def predictions(self) -> _Answers: ...
    @property
    def database_descriptors(self) -> _Floats: ...
    @property
    def query_descriptors(self) -> _Floats: ...
    @property
    def failures(self) -> List[Failure]: ...
    def line(self) -> str: ...

def methods() -> List[Method]: ...
def find_method(name: str) -> Method: ...
def datasets() -> List[DatasetInfo]: ...
def load_dataset(name: str, data_folder: _Path, options: DatasetOptions = ...) -> Dataset: ...
def load_ground_truth(json_file: _Path) -> Dataset: ...
def load_folders(database: _Path, queries: _Path, positive_dist_threshold: float = ..., labels: bool = ...) -> Dataset: ...
def evaluate(
    dataset: Dataset,
    methods: Sequence[str],
    options: Optional[MethodOptions] = ...,
    *,
    recall_values: Sequence[int] = ...,
    num_predictions: int = ...,
    keep_descriptors: bool = ...,
    num_threads: int = ...,
    progress: _Progress = ...,
    resume: bool = ...,
    feature_cache: Optional[_Path] = ...,
    **keywords: Any,
) -> List[Evaluation]: ...
def comparison_table(evaluations: Sequence[Evaluation]) -> str: ...
def to_json(evaluations: Sequence[Evaluation]) -> str: ...
def write_report(folder_or_html: _Path, dataset: Dataset, evaluations: Sequence[Evaluation], title: str = ...) -> None: ...
def simulate(
    folder: _Path,
    *,
    places: int = ...,
    seed: int = ...,
    database_condition: _Condition = ...,
    query_condition: _Condition = ...,
    height: int = ...,
    width: int = ...,
    progress: _Progress = ...,
) -> Tuple[Path, Path]: ...
def list_pictures(folder_or_file: _Path) -> List[Path]: ...
def load_image(file: _Path, ignore_orientation: bool = ...) -> _Pixels: ...
def save_descriptors(file: _Path, descriptions: Descriptions, header: MapHeader) -> None: ...
def add_weights(file: _Path, name: str) -> Path: ...
def get_weights(name: str) -> Path: ...
def set_thread_cores(cores: int) -> None: ...
def num_cores() -> int: ...
