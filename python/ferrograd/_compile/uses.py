"""What a program does with the values that it looks up: which parts of them it reads."""

from __future__ import annotations

from typing import Any, ClassVar

#: Constants that may be keys of items.
KEYS = (int, str, bytes, float, type(None))
_NONE: frozenset[Any] = frozenset()


class Use:
    """What is done with all values that may come to one place: a variable, an attribute, an item.

    Places between which values move have one use: :meth:`join` makes one of two. So it does not matter in which order
    the code runs.
    """

    __slots__ = (
        "_each",
        "_items",
        "_joined",
        "_result",
        "attributes",
        "identity",
        "is_entered",
        "is_open",
        "is_whole",
        "methods",
        "site",
        "size",
        "structure",
        "values",
    )

    #: How often uses have grown.
    changes: ClassVar[int] = 0

    def __init__(self, is_open: bool = False) -> None:
        self._joined: Use | None = None
        #: Everything is read, or may be: code that nobody knows gets the value.
        self.is_whole = False
        #: Methods run that Python calls by themselves, and may read any attribute that the code names.
        self.is_entered = False
        #: How many items there are.
        self.size = False
        #: How many items there are, and the keys of a dict.
        self.structure = False
        #: Which object it is.
        self.identity = False
        #: The names of attributes and methods that the code asks for.
        self.attributes: frozenset[str] = _NONE
        self.methods: frozenset[str] = _NONE
        #: Constants among the values, and whether there may be others than these and those of known places.
        self.values: frozenset[Any] = _NONE
        self.is_open = is_open
        #: The code, and the place in it, that reads everything.
        self.site: tuple[Any, int] | None = None
        self._items: dict[Any, Use] = {}
        self._each: Use | None = None
        self._result: Use | None = None

    def root(self) -> Use:
        """The use that this one has been joined to."""
        use = self
        while use._joined is not None:
            if use._joined._joined is not None:
                use._joined = use._joined._joined
            use = use._joined
        return use

    def is_read(self) -> bool:
        """Whether anything of it is read, besides its class and the value of a number or a string."""
        use = self.root()
        flags = use.is_whole or use.is_entered or use.size or use.structure or use.identity
        return bool(flags or use.attributes or use.methods or use._items or use._each or use._result)

    def items(self) -> dict[Any, Use]:
        """The uses of the items with constant keys."""
        return self.root()._items

    def item(self, key: Any) -> Use:
        """The use of the item with a key."""
        use = self.root()
        if use.is_whole:
            return use
        if use._each is not None:
            return use._each
        if key not in use._items:
            use._items[key] = Use(use.is_open)
            Use.changes += 1
        return use._items[key]

    def every(self) -> Use | None:
        """The use of all items, if the code reads all."""
        return self.root()._each

    def each(self) -> Use:
        """The use of all items, which the code reads one after the other."""
        use = self.root()
        if use.is_whole:
            return use
        if use._each is None:
            items, use._items = use._items, {}
            each, use.structure = Use(use.is_open), True
            use._each = each
            Use.changes += 1
            for item in items.values():
                # An item may hold what it is an item of, so this may read everything.
                each.join(item)
        return use.root()._each or use.root()

    def result(self) -> Use:
        """The use of what it returns where it is called."""
        use = self.root()
        if use.is_whole:
            return use
        if use._result is None:
            use._result = Use(True)
            Use.changes += 1
        return use._result

    def needs(self, what: str) -> None:
        """Sets a flag."""
        use = self.root()
        if not getattr(use, what):
            setattr(use, what, True)
            Use.changes += 1

    def asks(self, name: str, method: bool = False) -> None:
        """An attribute is read."""
        use = self.root()
        if name in (use.methods if method else use.attributes):
            return
        if method:
            use.methods |= {name}
        else:
            use.attributes |= {name}
        Use.changes += 1

    def read(self, site: tuple[Any, int] | None = None) -> None:
        """Everything is read."""
        use = self.root()
        if not use.is_whole:
            Use.changes += 1
            parts, use.is_whole, use.site = use._parts(), True, site
            use._items, use._each, use._result = {}, None, None
            for part in parts:
                use.join(part)

    def opened(self) -> None:
        """There may be other values than those of known places."""
        uses = [self.root()]
        while uses:
            use = uses.pop()
            if not use.is_open:
                use.is_open = True
                Use.changes += 1
                uses += [part.root() for part in use._fg_held()]

    def parts_opened(self) -> None:
        """There may be other items than those of known places."""
        for part in self.root()._fg_held():
            part.opened()

    def _fg_held(self) -> list[Use]:
        return [*self._items.values(), *([self._each] if self._each is not None else [])]

    def add_value(self, value: Any) -> None:
        """A constant is among the values."""
        use = self.root()
        if use.is_open or value in use.values:
            return
        use.values |= {value}
        Use.changes += 1

    def join(self, other: Use) -> None:
        """Makes one use of two."""
        pairs = [(self, other)]
        while pairs:
            a, b = (use.root() for use in pairs.pop())
            if a is not b:
                pairs += a._join(b)

    def _join(self, other: Use) -> list[tuple[Use, Use]]:
        """Takes another use in. Returns which parts of the two have to be joined, too."""
        Use.changes += 1
        parts = [*self._parts(), *other._parts()]
        other._joined = self
        for flag in ("is_whole", "is_entered", "size", "structure", "identity"):
            if getattr(other, flag):
                setattr(self, flag, True)
        self.attributes |= other.attributes
        self.methods |= other.methods
        self.values |= other.values
        self.site = self.site or other.site
        opens = self.is_open != other.is_open
        items, each, result = other._items, other._each, other._result
        other._items, other._each, other._result = {}, None, None
        if self.is_whole:
            self._items, self._each, self._result = {}, None, None
            pairs = [(self, part) for part in parts]
        else:
            pairs = self._taken(items, each, result)
        if opens:
            self.is_open = False
            self.opened()
        return pairs

    def _taken(self, items: dict[Any, Use], each: Use | None, result: Use | None) -> list[tuple[Use, Use]]:
        """Adds the parts of another use to its own, and returns the pairs of those that both have."""
        pairs = [(self._items[key], use) for key, use in items.items() if key in self._items]
        self._items = {**items, **self._items}
        if each is not None:
            pairs += [(self._each, each)] if self._each is not None else []
            self._each = self._each or each
        if self._each is not None:
            pairs += [(self._each, use) for use in self._items.values()]
            self._items = {}
        if result is not None:
            pairs += [(self._result, result)] if self._result is not None else []
            self._result = self._result or result
        return pairs

    def _parts(self) -> list[Use]:
        return [*self._items.values(), *(part for part in (self._each, self._result) if part is not None)]
