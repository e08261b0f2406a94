"""Settings: fields of a struct or dataclass, declared once for configuration files, the command line and Python.

    class Limits(msgspec.Struct, frozen=True):
        rounds: Annotated[int, Meta(ge=1, description="Maximum number of model calls.")] = 4

`decode_table` makes the struct from a table of a configuration, `list_settings` describes it, and
`cli.common.setting_options` makes options of the command line from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from mkdocs_roaming.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from msgspec import inspect

T = TypeVar("T")

CONFIG_FILE = "roaming.toml"
"""The configuration file in the working directory."""

MAX_NUMBER = 10**15
"""The largest number of a setting: infinity is none."""

_MAX_VALUE_CHARS = 100
_SIMILARITY = 0.7


# Description


class Setting(NamedTuple):
    """A setting: its type without `Annotated`, and the metadata with its description and range."""

    name: str
    type: Any
    default: Any
    meta: Meta

    @property
    def option(self) -> str:
        """The name of the option of the command line, with underscores."""
        return str((self.meta.extra or {}).get("option", self.name))


def list_settings(kind: type) -> dict[str, Setting]:
    """Return the settings of a class by name."""
    hints = get_type_hints(kind, include_extras=True)
    settings = {}
    for name, parameter in signature(kind).parameters.items():
        hint = hints[name]
        meta = Meta()
        if get_origin(hint) is Annotated:
            hint, meta = hint.__origin__, hint.__metadata__[-1]
        settings[name] = Setting(name, hint, parameter.default, meta)
    return settings


def table_keys(kind: type) -> tuple[str, ...]:
    """Return the names of the settings of a class."""
    return tuple(signature(kind).parameters)


# Decoding


class SettingError(UsageError):
    """A setting is invalid.

    Attributes:
        name: Name of the setting, such as `exclude` or `disable[0]`; empty for a whole table.
        problem: What is wrong with it, and how to fix it.
    """

    def __init__(self, where: str, name: str, problem: str) -> None:
        """Set the message, which begins with the place of the table."""
        super().__init__(": ".join(filter(None, (where, name, problem))))
        self.name = name
        self.problem = problem


def decode_table(value: object, kind: type[T], where: str = "", **given: object) -> T:
    """Decode a table of a configuration into a struct or a dataclass.

    Args:
        value: The table.
        kind: The class.
        where: The place of the table, for messages.
        given: Values of settings that the table cannot contain.

    Raises:
        SettingError: A key is unknown, or a value has a wrong type or range.
    """
    table = check_keys(value, [name for name in table_keys(kind) if name not in given], where)
    try:
        return msgspec.convert({**table, **given}, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        message, _, path = str(error).partition(" - at `$.")
        raise _explain(message, path.rstrip("`"), table, kind, where) from None
    except UsageError as error:  # of the class itself
        raise SettingError(where, "", str(error)) from None


def read_toml(file: Path) -> dict[str, Any]:
    """Read a configuration in TOML.

    Raises:
        UsageError: The file cannot be read, or is not TOML.
    """
    import tomllib  # few readers of settings need it

    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not TOML ({error})") from None


def check_keys(value: object, known: Iterable[str], where: str) -> Mapping[str, object]:
    """Return a table whose keys are known.

    Raises:
        SettingError: The value is not a table, or a key is unknown.
    """
    if not isinstance(value, Mapping):
        raise SettingError(where, "", f"expected a table, got {value!r}")
    names = tuple(known)
    for name in value:
        if name not in names:
            from difflib import get_close_matches  # not needed for valid settings

            nearest = get_close_matches(str(name), names, 1, _SIMILARITY)
            hint = f"did you mean `{nearest[0]}`? " if nearest else ""
            raise SettingError(where, str(name), f"unknown option; {hint}Available options: {', '.join(names)}")
    return value


def _explain(message: str, path: str, table: Mapping[str, object], kind: type, where: str) -> SettingError:
    """Return the error for a message of msgspec about the value at a path, such as `exclude[0]`."""
    if not path:
        return SettingError(where, "", message)
    from msgspec import inspect  # not needed for valid settings

    name, *items = filter(None, path.replace("[", ".").replace("]", ".").split("."))
    value: Any = table[name]
    fields: Any = inspect.type_info(kind)
    expected = next(field.type for field in fields.fields if field.name == name)
    for item in items:
        outer = expected.type if isinstance(expected, inspect.Metadata) else expected
        if isinstance(outer, inspect.StructType | inspect.DataclassType):
            return SettingError(where, f"{name}.{item}", message)
        if not isinstance(outer, inspect.CollectionType):
            break
        expected = outer.item_type
        name = f"{name}[{item}]"
        value = list(value)[int(item)]
    shown = repr(value)
    if len(shown) > _MAX_VALUE_CHARS:
        shown = f"{shown[:_MAX_VALUE_CHARS]}…"
    return SettingError(where, name, f"expected {_describe(expected)}, got {shown}")


def _describe(kind: inspect.Type) -> str:
    """Return the values that a type accepts, for an error message."""
    from msgspec import inspect  # as above

    match kind:
        case inspect.Metadata(type=inner, extra_json_schema={"examples": [example]}):
            return f"{_describe(inner)} such as {example}"
        case inspect.Metadata(type=inner):
            return _describe(inner)
        case inspect.StructType(fields=fields) | inspect.DataclassType(fields=fields):
            return f"a mapping with {', '.join(field.name for field in fields)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            return _describe_range(kind)
        case inspect.LiteralType(values=values):
            return " or ".join(str(value) for value in values if value != "")
        case inspect.UnionType(types=types):
            return " or ".join(_describe(option) for option in types if not isinstance(option, inspect.NoneType))
        case inspect.DictType(value_type=item):
            return "a mapping of texts to texts" if isinstance(item, inspect.StrType) else "a mapping"
        case inspect.CollectionType(item_type=item):
            return "a list of texts" if isinstance(item, inspect.StrType) else "a list"
        case inspect.StrType(max_length=int(limit)):
            return f"a text of at most {limit} characters"
    return "a text"


def _describe_range(kind: inspect.IntType | inspect.FloatType) -> str:
    text = "a number"
    if kind.ge is not None:
        text += f" of {kind.ge} or more"
    elif kind.gt is not None:
        text += f" above {kind.gt}"
    if kind.le and kind.le < MAX_NUMBER:
        text += f", up to {kind.le}"
    return text
