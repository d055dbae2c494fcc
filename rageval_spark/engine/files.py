"""Files on any file system that pyarrow knows: local, hdfs://, s3://, gs://, abfss://."""

from __future__ import annotations

import contextlib
import json
import posixpath
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyarrow import fs

from rageval_spark.errors import StoreError


@dataclass(frozen=True)
class Folder:
    """A folder by its path or URI. Picklable; the file system is opened where it is used."""

    uri: str

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.uri.rstrip('/')}/{name}")

    def __str__(self) -> str:
        return self.uri

    def __getstate__(self) -> dict[str, Any]:
        return {"uri": self.uri}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        if "://" not in self.uri:
            local = self.uri.removeprefix("file:").replace("dbfs:/", "/dbfs/", 1)
            return fs.LocalFileSystem(), Path(local).absolute().as_posix()
        try:
            opened: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(self.uri)
        except Exception as error:  # pyarrow raises what each backend raises
            raise StoreError(f"cannot open {self.uri}: {error}") from None
        return opened

    @property
    def is_local(self) -> bool:
        return isinstance(self._opened[0], fs.LocalFileSystem)

    def for_spark(self, name: str = "") -> str:
        """The path as Spark's readers and writers take it."""
        base = f"file://{self._opened[1]}" if self.is_local else self.uri  # not as_uri: Spark takes %20 for what it is
        return f"{base.rstrip('/')}/{name}" if name else base

    def path(self, name: str = "") -> str:
        return posixpath.join(self._opened[1], name) if name else self._opened[1]

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that a reader sees all of it or nothing: renamed into place, or put in one piece."""
        with self.writing(name) as out:
            out.write(content)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Open a stream into a file. The file appears when the block ends without error; a local disk never has half of it."""
        system = self._opened[0]
        if not self.is_local:
            with system.open_output_stream(self.path(name)) as out:
                yield out
            return
        system.create_dir(posixpath.dirname(self.path(name)), recursive=True)
        draft = self.path(f"{posixpath.dirname(name)}/.{uuid.uuid4().hex}.tmp".lstrip("/"))
        try:
            with system.open_output_stream(draft) as out:
                yield out
            system.move(draft, self.path(name))
        except BaseException:
            with contextlib.suppress(OSError):
                system.delete_file(draft)
            raise

    def read(self, name: str) -> bytes:
        """The file's content; raises FileNotFoundError."""
        with self._opened[0].open_input_stream(self.path(name)) as source:
            content: bytes = source.read()
        return content

    @contextlib.contextmanager
    def reading(self, name: str) -> Iterator[Any]:
        """A stream of the file's bytes as they are, whatever its name ends with; raises FileNotFoundError."""
        with self._opened[0].open_input_stream(self.path(name), compression=None) as source:
            yield source

    def stamp(self, name: str) -> list[float] | None:
        """Return the size in bytes and the time (seconds since 1970) of a file, to notice changes; None if it does not exist."""
        info = self._opened[0].get_file_info(self.path(name))
        if info.type != fs.FileType.File:
            return None
        return [info.size or 0, (info.mtime_ns or 0) / 1e9]

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())

    def read_json(self, name: str) -> Any:
        return json.loads(self.read(name))

    def names(self, suffix: str = "") -> list[str]:
        """Names of the files in the folder, sorted; none where there is no folder."""
        return sorted(info.base_name for info in self._listed() if info.is_file and info.base_name.endswith(suffix))

    def folders(self) -> list[str]:
        return sorted(info.base_name for info in self._listed() if info.type == fs.FileType.Directory)

    def _listed(self) -> list[fs.FileInfo]:
        try:
            found: list[fs.FileInfo] = self._opened[0].get_file_info(fs.FileSelector(self.path(), allow_not_found=True))
        except FileNotFoundError:  # it came or went between the two looks that pyarrow takes
            return []
        return found

    def exists(self, name: str = "") -> bool:
        return bool(self._opened[0].get_file_info(self.path(name)).type != fs.FileType.NotFound)

    def delete(self, name: str) -> None:
        """Delete a file or a folder with all it holds; nothing happens where there is none."""
        info = self._opened[0].get_file_info(self.path(name))
        if info.type == fs.FileType.Directory:
            self._opened[0].delete_dir(self.path(name))
        elif info.type != fs.FileType.NotFound:
            self._opened[0].delete_file(self.path(name))
