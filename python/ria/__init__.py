# SPDX-License-Identifier: MIT
"""Visual place recognition: which of the places I know is this?

    import ria
    recognizer = ria.Recognizer("resnet50-ria")
    places = recognizer.map(ria.list_pictures("street/database"))
    numbers, scores = places.search(recognizer.describe("street/queries/1.jpg"), k=5)

Pictures are paths or uint8 arrays, which are read where they are; descriptors are float32 arrays. Long calls
let other threads of Python run, take progress(done, total) and end at Ctrl-C.
"""
from . import _ria
from ._ria import __version__

__all__ = [name for name in dir(_ria) if not name.startswith("_")]
for _name in __all__:
    _thing = globals()[_name] = getattr(_ria, _name)
    if isinstance(_thing, type):
        _thing.__module__ = "ria"  # where it is to be looked for, by pickle too
del _name, _thing
