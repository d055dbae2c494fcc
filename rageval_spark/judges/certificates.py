"""The authorities that a server's certificate is checked against: from the config, the environment or the machine."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import certifi

from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import Endpoint

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Environment variables of OpenSSL, requests and curl that name authorities. All that are set count."""
CERTIFICATE = re.compile(r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----.+?-----END (?:TRUSTED )?CERTIFICATE-----", re.S)
REMEDY = "if its certificate was issued by an authority of your own, name that in ca_bundle or in SSL_CERT_FILE (a PEM file)"


def read_roots(endpoint: Endpoint, environment: Mapping[str, str] = os.environ) -> str:
    """Return the certificates (PEM) to trust at an endpoint: those in `ca_bundle`, or else in the files that VARIABLES name.
    "" means those of the machine.

    Read them on the driver: they are sent to executors, which need no file. Raises ConfigError if a file is missing or holds no
    certificate.
    """
    if not endpoint.base_url.startswith("https://"):
        return ""
    if endpoint.ca_bundle is not None:
        return _read(Path(endpoint.ca_bundle).expanduser(), "ca_bundle")
    named = [
        (name, place.strip())
        for name in VARIABLES
        for place in (environment.get(name, "").split(os.pathsep) if name == "SSL_CERT_DIR" else [environment.get(name, "")])
        if place.strip()
    ]
    return "\n".join(dict.fromkeys(_read(Path(value), f"the environment variable {name}") for name, value in named))


def _read(path: Path, source: str) -> str:
    try:
        texts = [file.read_text(errors="replace") for file in _files(path)]
    except OSError as error:
        raise ConfigError(f"{source} names {path}, which cannot be read ({error.strerror or error}). Name a PEM file") from None
    certificates = [match[0].replace("TRUSTED ", "") for text in texts for match in CERTIFICATE.finditer(text)]
    pem = "\n".join(dict.fromkeys(certificates))
    try:
        _trust(pem)
    except (ssl.SSLError, ValueError) as error:
        reason = "holds no certificate" if not pem else f"holds no usable certificate ({error})"
        raise ConfigError(f"{source} names {path}, which {reason}. Name a PEM file, with BEGIN CERTIFICATE in it") from None
    return pem


def _files(path: Path) -> Iterator[Path]:
    """The file, or the files of a folder that may hold certificates."""
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.iterdir()):
        if file.is_file() and (file.suffix in (".pem", ".crt", ".cer") or re.fullmatch(r"\.\d", file.suffix)):
            yield file


@lru_cache(maxsize=16)
def context_of(roots: str) -> ssl.SSLContext:
    """Return the TLS settings that trust these certificates alone, or what the machine trusts if there are none."""
    if roots:
        return _trust(roots)
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if paths.cafile is None and paths.capath is None:
        context.load_verify_locations(certifi.where())  # a slim image has no authorities of its own
    return context


def _trust(pem: str) -> ssl.SSLContext:
    if not pem:
        raise ValueError("empty")
    return ssl.create_default_context(cadata=pem)
