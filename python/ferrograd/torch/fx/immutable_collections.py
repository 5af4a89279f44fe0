"""Lists and dictionaries that refuse changes: the arguments of a node, whose graph has to know of every change."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._kit import public as _public
from ferrograd.torch.utils import _pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: a node is given new arguments as a whole."""
    raise NotImplementedError(
        f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a torch.fx.Node object, instead create a new copy of it and assign the copy to the node"
    )


class immutable_list(list[Any]):
    """A list that cannot be changed.

    >>> from ferrograd.torch.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2]) == [1, 2]
    True
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that cannot be changed.

    >>> from ferrograd.torch.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)["a"]
    1
    """

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (dict(self),)


_pytree.register_pytree_node(immutable_list, lambda x: (list(x), None), lambda parts, _: immutable_list(parts))
_pytree.register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x)),
    lambda parts, keys: immutable_dict(zip(keys, parts, strict=True)),
)

__dir__ = _public.names(globals())
