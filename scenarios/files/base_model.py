"""What all models of the scenario file share: nothing is converted, nothing is ignored, every error names its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from groupsim.scenarios.errors import nearest, nearest_name, shown

T = TypeVar("T")
VALUES_MAX: Final = 2_000_000
_UNKNOWN_MAX: Final = 100
"""Unknown keys of a mapping that are told: to find the nearest known one takes time."""


class FileModel(BaseModel):
    """A mapping of the scenario file. Unknown keys and keys without a value are errors of their own.

    ``former_keys``: what keys were once called, and the paths of those of today. ``keys_elsewhere``: what other tools
    call them. ``bare_key``: the one that somebody means who writes its value instead of the mapping.
    """

    former_keys: ClassVar[Mapping[str, str]] = {}
    keys_elsewhere: ClassVar[Mapping[str, str]] = {}
    bare_key: ClassVar[str] = ""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_unknown_and_empty(cls, data: Any, handler: ModelWrapValidatorHandler[T]) -> T:
        if not isinstance(data, Mapping):
            if cls.bare_key and isinstance(data, int | float | str) and not isinstance(data, bool):
                value = shown(data).strip("'")
                raise refusal(f"must be a mapping: write {{{cls.bare_key}: {value}}}")
            return handler(data)
        keys = cls.keys()
        unknown = [key for key in data if key not in keys]
        empty = [key for key, value in data.items() if key in keys and value is None]
        errors = [error(str(key), cls._unknown_key(key)) for key in unknown[:_UNKNOWN_MAX]]
        errors += [error(key, "has no value") for key in empty]
        wrong = {*unknown, *empty}
        hidden = {(key,) for key in wrong}
        meant = {(cls.keys_elsewhere.get(key) or nearest_name(key, keys),) for key in unknown[:_UNKNOWN_MAX]}
        try:
            result = handler({key: value for key, value in data.items() if key not in wrong})
        except ValidationError as found:
            others = (one for one in found.errors(include_url=False) if one["loc"][:1] not in hidden)
            errors += [again(one) for one in others if one["type"] != "missing" or one["loc"] not in meant]
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return result

    @classmethod
    def _unknown_key(cls, key: object) -> PydanticCustomError:
        if key in cls.former_keys:
            return refusal(f"is called {cls.former_keys[str(key)]} now")
        return unknown_key(key, cls.keys(), cls.keys_elsewhere.get(str(key), ""))

    @classmethod
    def keys(cls) -> list[str]:
        """The keys of the mapping, as the file spells them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def unknown_key(key: object, known: Iterable[str], meant: str = "") -> PydanticCustomError:
    """The error for a key that is not one of ``known``; what is meant by it, if not the nearest."""
    known = sorted(known)
    hint = f"did you mean {meant!r}? " if meant else nearest(key, known)
    return refusal(f"is no key of this mapping; {hint}allowed: {', '.join(known)}", "unknown_key")


def refusal(message: str, kind: str = "refused") -> PydanticCustomError:
    """An error with this message, to be raised by validators."""
    return PydanticCustomError(kind, "{message}", {"message": message})


def error(step: str | int, reason: PydanticCustomError | str, value: object = None) -> InitErrorDetails:
    """An error one step below the place of the validator that raises it together with others."""
    reason = refusal(reason) if isinstance(reason, str) else reason
    return InitErrorDetails(type=reason, loc=(step,), input=value)


def again(found: Any) -> InitErrorDetails:
    """An error that pydantic has reported, to be raised once more with others."""
    return InitErrorDetails(type=refusal(found["msg"], found["type"]), loc=found["loc"], input=found["input"])


def refuse_repeated(values: Iterable[Hashable], reason: str, *, at: tuple[str, ...] = (), key: str = "") -> None:
    """Refuse a list in which something stands twice, at the place of each that is there before.

    Parameters
    ----------
    values : iterable of hashable
        An element each, or what of it must differ.
    reason : str
    at : tuple of str
        Where the list is, from the validator's own place.
    key : str
        What must differ, where elements are mappings.
    """
    seen: set[Hashable] = set()
    wrong: list[InitErrorDetails] = []
    for position, value in enumerate(values):
        if value in seen:
            loc = (*at, position, *([key] if key else ()))
            wrong.append(InitErrorDetails(type=refusal(reason), loc=loc, input=value))
        seen.add(value)
    if wrong:
        raise ValidationError.from_exception_data("list", wrong)


def one_form(value: Any, forms: Mapping[str, type[FileModel]], what: str, info: ValidationInfo) -> FileModel:
    """The model of a mapping whose key says which of several forms it has.

    Parameters
    ----------
    value : mapping
        Must have exactly one key of ``forms``.
    forms : mapping of str to model
        By deciding key.
    what : str
        What the value is, for the error.
    """
    if not isinstance(value, Mapping):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        example = f"; write {{{next(iter(forms))}: {value}}}, say" if is_number else ""
        raise refusal(f"must be {what}: a mapping with one of {', '.join(forms)}{example}")
    present = [key for key in value if key in forms]
    if len(present) == 1:
        return forms[present[0]].model_validate(value, context=info.context)
    if not present:
        hint = "".join(nearest(key, forms) for key in list(value)[:1])
        raise refusal(f"must be {what}: {hint}one of {', '.join(forms)} is needed")
    raise refusal(f"must be {what}: only one of {', '.join(present)} at a time")


def checked(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """A validator from a function that raises ValueError with a sentence."""

    def validate(value: Any) -> T:
        try:
            return function(value)
        except ValueError as error:
            raise refusal(str(error)) from None

    return validate


def spend(info: ValidationInfo, values: int) -> None:
    """Take note of what a short text stands for: indices of a range, rows of a file.

    Raises
    ------
    PydanticCustomError
        All of them in the document are more than ``VALUES_MAX``: a few lines of YAML could fill any memory.
    """
    if info.context is not None:
        spent = info.context["spent"] = info.context.get("spent", 0) + values
        if spent > VALUES_MAX:
            raise refusal(f"ranges and files of this document stand for more than {VALUES_MAX:,} values in all")


def folder_of(info: ValidationInfo) -> Path:
    """The folder against which file names in the document are resolved."""
    return Path((info.context or {}).get("folder", "."))


def made(kind: Callable[..., T], file: FileModel, **others: Any) -> T:
    """A dataclass of `sim.model` from a model of the file.

    Fields of the same name are taken as they are, durations also under their name with ``_us``.

    Parameters
    ----------
    kind : dataclass
    file : FileModel
    others
        Fields that take more than their name to translate.
    """
    known = getattr(kind, "__dataclass_fields__", {})
    named = {name if name in known else f"{name}_us": getattr(file, name) for name in type(file).model_fields}
    return kind(**{name: value for name, value in named.items() if name in known} | others)


def whole(value: Any) -> Any:
    """What a number must be that has to be one of some: to Python ``true`` and ``1.0`` are the number 1."""
    if isinstance(value, bool | float):
        raise refusal("must be a whole number")
    return value


FormatVersion = Annotated[Literal[1], BeforeValidator(whole)]
"""Of a file: there is one form of each."""


def version_text(value: Any) -> Any:
    """A version that YAML has read as a number (``client: 4.4``) as text."""
    return str(value) if isinstance(value, float) else value
