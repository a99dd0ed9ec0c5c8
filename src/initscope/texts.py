"""The text that a corpus names: read, checked against its hash, cut into a training and a held-out part."""

import hashlib
from functools import cache
from pathlib import Path


def read_text(path, sha256=None):
    """The file as text. ValueError with the mend where it is absent, not text, or not what the order was for."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{error.strerror}; name a UTF-8 text file") from None
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError("it has changed since the run was planned; run again")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    if "\0" in text:
        raise ValueError("a binary file (it holds a zero byte); name a UTF-8 text file")
    return text.replace("\r\n", "\n")


def parts(text, unit, held_out):
    """{"training": symbols, "validation": symbols}: the text by character or byte, its last share held out."""
    symbols = list(text) if unit == "character" else list(text.encode())
    held = round(len(symbols) * held_out)
    return {"training": symbols[: len(symbols) - held], "validation": symbols[len(symbols) - held :]}


def surveyed(path, *how):
    """{"sha256", "vocabulary"} of a text that will do. ValueError with the mend for one that will not.

    how: unit, held_out, length. Every cell of a study asks: a file that is as it was is read once.
    """
    try:
        as_it_is = Path(path).stat()
    except OSError:
        as_it_is = None
    return survey(as_it_is, path, *how)


@cache
def survey(as_it_is, path, unit, held_out, length):
    text = read_text(path)
    if not text:
        raise ValueError("the file is empty; name a text")
    part = parts(text, unit, held_out)
    training, validation = set(part["training"]), set(part["validation"])
    if len(training) < 2:
        raise ValueError(f"its training part has no symbol but {sorted(training)}; a text needs at least 2")
    for name, symbols in part.items():
        if len(symbols) < length:
            mend = "use a longer text, a shorter corpus.length or another corpus.held_out"
            raise ValueError(f"its {name} part has {len(symbols)} symbols, fewer than corpus.length {length}; {mend}")
    if lacking := sorted(validation - training)[:5]:
        mend = "use another corpus.held_out or take them out of the text"
        raise ValueError(f"the held-out part has symbols that the training part lacks: {lacking}; {mend}")
    return {"sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(), "vocabulary": len(training)}
