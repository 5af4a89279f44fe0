//! Calls of compiled functions: what each is compared by. One that is like the last one runs its program without Python.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyMappingProxy, PyString, PyTuple, PyType};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::inputs::FEW;
use super::program::Compiled;
use super::result::{ResultShape, Shape};
use crate::array::Array;
use crate::bind::convert::numpy::has_bytes;
use crate::bind::grad::run::warn_of_vectors;
use crate::bind::python::dialect::Dialect;
use crate::bind::python::error::raise;
use crate::bind::python::once::intern;
use crate::bind::value::var::{Value, Var};
use crate::dtype::DType;
use crate::graph::modes::{self, Flags, Watch};
use crate::graph::{Modes, Tensor};
use crate::ops::promote::default_float;
use crate::shape::Dims;

/// Whether gradients are recorded, inference mode, the dtype of autocast, and the default dtype.
type ProgramModes = (bool, bool, Option<DType>, DType);

/// The modes of this thread that a program depends on. None where functions run as they are: while a trace is taken,
/// inside vmap, and while ops are watched. With `tracing` they are those of a trace, and with `inner` those of a trace of a
/// step or a branch, which may be inside vmap.
fn modes_of_programs(tracing: bool, inner: bool) -> Option<ProgramModes> {
    let flags = modes::flags();
    // A program can be profiled, but not watched otherwise.
    let is_watched = || modes::with(|m| m.watch.without_profile() != Watch::NOTHING);
    if flags.has(Flags::PACKING)
        || flags.has(Flags::WATCHING) && is_watched()
        || !inner && flags.has(Flags::LIVE_LEVELS)
        || !tracing && !inner && flags.has(Flags::TRACING)
    {
        return None;
    }
    let autocast = if flags.has(Flags::AUTOCAST) { modes::with(|m| m.autocast) } else { None };
    let records = !flags.has(Flags::NOT_RECORDING);
    Some((records, flags.has(Flags::INFERENCE), autocast, default_float()))
}

/// Sets whether programs that this thread makes may round a product and the sum that reads it once. Returns whether they could
/// before.
#[pyfunction]
fn contract_products(on: bool) -> bool {
    Modes::update(|m| std::mem::replace(&mut m.contracts, on))
}

/// [`modes_of_programs`] for Python.
#[pyfunction]
#[pyo3(signature = (tracing=false, inner=false))]
fn program_modes(tracing: bool, inner: bool) -> Option<(bool, bool, Option<&'static str>, &'static str)> {
    let (records, inference, autocast, default) = modes_of_programs(tracing, inner)?;
    Some((records, inference, autocast.map(DType::name), default.name()))
}

/// What a value was in the last call.
enum Pattern {
    /// A tensor of this type: the first one, the second, …
    Tensor(Py<PyType>, usize),
    /// This object.
    Same(Py<PyAny>),
    /// This object, with this class.
    Object(Py<PyAny>, Py<PyType>),
    /// Any float, as a tensor: the first one, the second, …
    Float(usize),
    /// A number or a string of this value.
    Equal(Py<PyAny>),
    /// This NumPy array, with this dtype and shape and these bytes in C order.
    Numbers(Py<PyAny>, Py<PyAny>, Vec<usize>, Py<PyBytes>),
    /// A list, a tuple or a deque.
    Sequence(Py<PyType>, Vec<Pattern>),
    /// A dict of this type with these keys.
    Dict(Py<PyType>, Vec<(Py<PyAny>, Pattern)>),
    /// A list, a tuple or a dict, of so many items where that is known, with these items among others.
    Items(Py<PyType>, Option<usize>, Vec<(Key, Pattern)>),
    /// An object of this type with these attributes.
    Fields(Py<PyType>, Vec<(Py<PyString>, Pattern)>),
    /// What all of these match.
    All(Vec<Pattern>),
    /// An object of this type.
    Kind(Py<PyType>),
    /// Any object.
    Any,
    /// A dict with so many keys.
    Size(usize),
    /// A name that was not there.
    Absent,
}

/// The names of parts, and what Python writes for the patterns of these.
type Pairs<'py, Name> = Vec<(Bound<'py, Name>, Bound<'py, PyAny>)>;

/// The key of an item.
enum Key {
    /// An item of a list or a tuple, counted from its end if it is negative.
    Index(isize),
    /// An item of a dict.
    Name(Py<PyAny>),
}

impl Key {
    fn new(kind: &Bound<'_, PyType>, key: Bound<'_, PyAny>) -> PyResult<Key> {
        if kind.is_subclass_of::<PyDict>()? {
            Ok(Key::Name(key.unbind()))
        } else {
            Ok(Key::Index(key.extract()?))
        }
    }

    /// The item of a container that has this key, if there is one.
    fn of<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let within = |i: isize, n: usize| match usize::try_from(i) {
            Ok(i) => (i < n).then_some(i),
            Err(_) => n.checked_sub(i.unsigned_abs()),
        };
        match self {
            Key::Name(name) => value.cast::<PyDict>()?.get_item(name),
            Key::Index(i) => match (value.cast::<PyList>(), value.cast::<PyTuple>()) {
                (Ok(list), _) => within(*i, list.len()).map(|i| list.get_item(i)).transpose(),
                (_, Ok(tuple)) => within(*i, tuple.len()).map(|i| tuple.get_item(i)).transpose(),
                _ => Ok(None),
            },
        }
    }
}

/// The tensors that patterns found, in order.
type Found<'py> = SmallVec<[Bound<'py, Var>; 8]>;

/// Whether no tensor was found twice. The first few are compared when they are found.
fn are_distinct(found: &Found<'_>) -> bool {
    let mut known = FxHashSet::default();
    found.len() <= FEW || found.iter().all(|x| known.insert(x.as_ptr().addr()))
}

impl Pattern {
    /// A pattern as Python writes it: a pair of a word and what belongs to it.
    fn new(from: &Bound<'_, PyAny>) -> PyResult<Pattern> {
        let (kind, what): (String, Bound<'_, PyAny>) = from.extract()?;
        Ok(match kind.as_str() {
            "tensor" => {
                let (t, place): (Bound<'_, PyType>, usize) = what.extract()?;
                Pattern::Tensor(t.unbind(), place)
            }
            "float" => Pattern::Float(what.extract()?),
            "same" => Pattern::Same(what.unbind()),
            "object" => {
                let kind = what.get_type().unbind();
                Pattern::Object(what.unbind(), kind)
            }
            "equal" => Pattern::Equal(what.unbind()),
            "numbers" => {
                let (array, dtype, dims, bytes): (Bound<'_, PyAny>, Bound<'_, PyAny>, _, Bound<'_, PyBytes>) =
                    what.extract()?;
                Pattern::Numbers(array.unbind(), dtype.unbind(), dims, bytes.unbind())
            }
            "sequence" => {
                let (t, parts): (Bound<'_, PyType>, Vec<Bound<'_, PyAny>>) = what.extract()?;
                Pattern::Sequence(t.unbind(), parts.iter().map(Pattern::new).collect::<PyResult<_>>()?)
            }
            "dict" => {
                let (t, parts): (Bound<'_, PyType>, Pairs<'_, PyAny>) = what.extract()?;
                let parts = parts.into_iter().map(|(k, p)| Ok((k.unbind(), Pattern::new(&p)?)));
                Pattern::Dict(t.unbind(), parts.collect::<PyResult<_>>()?)
            }
            "items" => {
                let (t, size, parts): (Bound<'_, PyType>, Option<usize>, Pairs<'_, PyAny>) =
                    what.extract()?;
                let parts = parts.into_iter().map(|(k, p)| Ok((Key::new(&t, k)?, Pattern::new(&p)?)));
                let parts = parts.collect::<PyResult<_>>()?;
                Pattern::Items(t.unbind(), size, parts)
            }
            "fields" => {
                let (t, parts): (Bound<'_, PyType>, Pairs<'_, PyString>) = what.extract()?;
                let parts = parts.into_iter().map(|(k, p)| Ok((k.unbind(), Pattern::new(&p)?)));
                Pattern::Fields(t.unbind(), parts.collect::<PyResult<_>>()?)
            }
            "all" => {
                let parts: Vec<Bound<'_, PyAny>> = what.extract()?;
                Pattern::All(parts.iter().map(Pattern::new).collect::<PyResult<_>>()?)
            }
            "kind" => Pattern::Kind(what.cast_into::<PyType>()?.unbind()),
            "any" => Pattern::Any,
            "size" => Pattern::Size(what.extract()?),
            "absent" => Pattern::Absent,
            _ => return Err(PyTypeError::new_err(format!("no pattern is {kind}"))),
        })
    }

    /// Whether a value is what it was. Its tensors are added to `found`.
    fn matches<'py>(&self, value: &Bound<'py, PyAny>, found: &mut Found<'py>) -> PyResult<bool> {
        let py = value.py();
        let is_a = |t: &Py<PyType>| value.get_type_ptr() == t.as_ptr().cast();
        Ok(match self {
            Pattern::Tensor(t, place) => {
                if !is_a(t) {
                    return Ok(false);
                }
                match found.get(*place) {
                    Some(x) => x.is(value),
                    None => {
                        let Ok(x) = value.cast::<Var>() else { return Ok(false) };
                        if found.len() != *place
                            || found[..found.len().min(FEW)].iter().any(|known| known.is(x))
                        {
                            return Ok(false);
                        }
                        found.push(x.clone());
                        true
                    }
                }
            }
            Pattern::Float(place) => {
                let Ok(x) = value.cast_exact::<PyFloat>() else { return Ok(false) };
                if found.len() != *place {
                    return Ok(false);
                }
                let number = Tensor::constant(Array::scalar(x.value()));
                found.push(Var::object(py, Value::Own(number), Dialect::Native)?);
                true
            }
            Pattern::Same(object) => value.is(object),
            Pattern::Object(object, kind) => value.is(object) && is_a(kind),
            Pattern::Size(n) => value.len()? == *n,
            Pattern::Absent => false,
            Pattern::Equal(known) => {
                let known = known.bind(py);
                value.is(known)
                    || value.get_type().is(known.get_type())
                        && match (value.cast::<PyFloat>(), known.cast::<PyFloat>()) {
                            (Ok(a), Ok(b)) => a.value().to_bits() == b.value().to_bits(),
                            _ => value.eq(known)?,
                        }
            }
            Pattern::Numbers(array, dtype, dims, bytes) => match value.cast::<PyUntypedArray>() {
                Ok(now) if value.is(array) => {
                    now.dtype().is(dtype) && now.shape() == dims && has_bytes(now, bytes.as_bytes(py))
                }
                _ => false,
            },
            Pattern::Sequence(t, parts) => {
                if !is_a(t) || value.len()? != parts.len() {
                    return Ok(false);
                }
                if let Ok(list) = value.cast::<PyList>() {
                    return all(parts.iter().enumerate(), |(i, part)| {
                        part.matches(&list.get_item(i)?, found)
                    });
                }
                if let Ok(tuple) = value.cast::<PyTuple>() {
                    return all(parts.iter().enumerate(), |(i, part)| {
                        part.matches(&tuple.get_item(i)?, found)
                    });
                }
                all(value.try_iter()?.zip(parts), |(item, part)| part.matches(&item?, found))?
            }
            Pattern::Dict(t, parts) => {
                let Ok(dict) = value.cast::<PyDict>() else { return Ok(false) };
                is_a(t)
                    && dict.len() == parts.len()
                    && all(dict.iter().zip(parts), |((key, item), (name, part))| {
                        Ok((key.is(name) || key.eq(name)?) && part.matches(&item, found)?)
                    })?
            }
            Pattern::Items(t, size, parts) => {
                is_a(t)
                    && (size.is_none() || *size == Some(value.len()?))
                    && all(parts.iter(), |(key, part)| part.matches_maybe(key.of(value)?, found))?
            }
            Pattern::Fields(t, parts) => {
                is_a(t)
                    && all(parts.iter(), |(name, part)| part.matches_maybe(value.getattr_opt(name)?, found))?
            }
            Pattern::All(parts) => all(parts.iter(), |part| part.matches(value, found))?,
            Pattern::Kind(t) => is_a(t),
            Pattern::Any => true,
        })
    }

    /// Whether this is the pattern of the tensor that was found at this place.
    fn is_tensor(&self, at: usize) -> bool {
        matches!(self, Pattern::Tensor(_, place) if *place == at)
    }

    /// Whether a value is what it was, or is not there as it was not there then.
    fn matches_maybe<'py>(&self, value: Option<Bound<'py, PyAny>>, found: &mut Found<'py>) -> PyResult<bool> {
        match value {
            Some(value) => self.matches(&value, found),
            None => Ok(matches!(self, Pattern::Absent)),
        }
    }
}

/// Whether a test that may fail holds for all of these.
fn all<T>(items: impl Iterator<Item = T>, mut test: impl FnMut(T) -> PyResult<bool>) -> PyResult<bool> {
    for item in items {
        if !test(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where a function looks a value up.
enum Place {
    /// A name in a dict.
    Dict(Py<PyDict>, Py<PyAny>),
    /// All of a dict.
    WholeDict(Py<PyDict>),
    /// A name in the attributes of a class.
    Attributes(Py<PyAny>, Py<PyAny>),
    /// The attribute of a function, an object with slots or the cell of a closure that has this name.
    Attribute(Py<PyAny>, Py<PyString>),
}

/// The dict behind the attributes of a class. A name that it lacks raises no error there.
fn dict_behind<'py>(place: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if !place.is_instance_of::<PyMappingProxy>() {
        return Ok(None);
    }
    let behind: Bound<'_, PyList> =
        place.py().import("gc")?.call_method1("get_referents", (place,))?.cast_into()?;
    Ok(if behind.len() == 1 { behind.get_item(0)?.cast_into().ok() } else { None })
}

impl Place {
    /// A place as Python writes it. Without a name it is a dict as a whole, a function for its code, or a cell. An object
    /// with slots is in a tuple.
    fn new(place: Bound<'_, PyAny>, name: Option<Bound<'_, PyAny>>) -> PyResult<Place> {
        let py = place.py();
        if let (Ok(owner), Some(name)) = (place.cast::<PyTuple>(), &name) {
            return Ok(Place::Attribute(owner.get_item(0)?.unbind(), name.clone().cast_into()?.unbind()));
        }
        let code = intern!(py, "__code__");
        let is_function = place.hasattr(code)?;
        let place = match dict_behind(&place)? {
            Some(dict) => dict.into_any(),
            None => place,
        };
        Ok(match (place.cast_into::<PyDict>(), name) {
            (Ok(dict), Some(name)) => Place::Dict(dict.unbind(), name.unbind()),
            (Ok(dict), None) => Place::WholeDict(dict.unbind()),
            (Err(other), Some(name)) if is_function => {
                Place::Attribute(other.into_inner().unbind(), name.cast_into()?.unbind())
            }
            (Err(other), Some(name)) => Place::Attributes(other.into_inner().unbind(), name.unbind()),
            (Err(other), None) => {
                let name = if is_function { code } else { intern!(py, "cell_contents") };
                Place::Attribute(other.into_inner().unbind(), name.clone().unbind())
            }
        })
    }

    /// The value that is there now, if there is one.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self {
            Place::Dict(dict, name) => dict.bind(py).get_item(name)?,
            Place::WholeDict(dict) => Some(dict.bind(py).clone().into_any()),
            Place::Attributes(place, name) => place.bind(py).get_item(name).ok(),
            // A cell may be empty.
            Place::Attribute(place, name) => place.bind(py).getattr(name).ok(),
        })
    }

    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Place::Dict(dict, name) => visit.call(dict).and_then(|()| visit.call(name)),
            Place::WholeDict(dict) => visit.call(dict),
            Place::Attributes(place, name) => visit.call(place).and_then(|()| visit.call(name)),
            Place::Attribute(place, _) => visit.call(place),
        }
    }
}

/// A place where the function looks a value up, and what was there.
struct Lookup {
    place: Place,
    pattern: Pattern,
}

impl Lookup {
    fn matches<'py>(&self, py: Python<'py>, found: &mut Found<'py>) -> PyResult<bool> {
        self.pattern.matches_maybe(self.place.value(py)?, found)
    }
}

/// What runs for calls of one kind.
enum Runner {
    /// A program whose outputs make up the result.
    Program(Py<Compiled>, Arc<Shape>),
    /// A function in Python that gets the tensors and the arguments. It returns the result in a tuple, or None where its
    /// program is not for these tensors.
    Host(Py<PyAny>),
    /// The function itself, for tensors of these kinds. It is right whatever it reads, so what it looks up is compared in few
    /// of the calls only, to see whether a program would pay by now.
    Itself(Py<PyAny>, Vec<Kind>),
}

/// The shape and the dtype of a tensor, and whether it has a gradient.
struct Kind(Dims, DType, bool);

impl Kind {
    /// What `see` makes of the shape, the dtype and whether there is a gradient. A value that is not shared is not copied.
    fn seen<T>(v: &Bound<'_, Var>, see: impl Fn(&[usize], DType, bool) -> T) -> T {
        let v = v.get();
        if let Value::Own(t) = &v.lock().value {
            return see(t.dims(), t.dtype(), t.is_tracked());
        }
        let t = v.look();
        see(t.dims(), t.dtype(), t.is_tracked())
    }

    fn of(v: &Bound<'_, Var>) -> Kind {
        Kind::seen(v, |dims, dtype, tracked| Kind(dims.into(), dtype, tracked))
    }

    fn is_of(&self, v: &Bound<'_, Var>) -> bool {
        Kind::seen(v, |dims, dtype, tracked| {
            dims == self.0.as_slice() && dtype == self.1 && tracked == self.2
        })
    }
}

/// A call of a function itself compares tensors; one of so many also compares the modes and what the function looks up.
const LOOKED_AT: u32 = 16;

/// A call, and what ran for it.
struct Call {
    modes: ProgramModes,
    arguments: Vec<Pattern>,
    keywords: Option<Pattern>,
    lookups: Vec<Lookup>,
    runner: Runner,
    /// How many calls asked for the function itself.
    asked: AtomicU32,
}

impl Call {
    /// Whether this call compares what the function looks up.
    fn looks(&self) -> bool {
        if !matches!(self.runner, Runner::Itself(..)) {
            return true;
        }
        // A call that is not counted, because another thread counts one, does no harm.
        let asked = self.asked.load(Relaxed).wrapping_add(1);
        self.asked.store(asked, Relaxed);
        asked.is_multiple_of(LOOKED_AT)
    }

    /// Whether the arguments are tensors of the first of these kinds. None where they are not all different tensors.
    fn tensors_are_alike(&self, args: &Bound<'_, PyTuple>, kinds: &[Kind]) -> Option<bool> {
        let are_tensors = self.arguments.iter().enumerate().all(|(i, pattern)| pattern.is_tensor(i));
        if !are_tensors || self.keywords.is_some() {
            return None;
        }
        let is_alike = |(i, kind): (usize, &Kind)| {
            args.get_borrowed_item(i).is_ok_and(|x| x.cast::<Var>().is_ok_and(|x| kind.is_of(&x)))
        };
        Some(kinds.iter().take(args.len()).enumerate().all(is_alike))
    }

    /// The result of the program, if it is the one for these arguments.
    fn run<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if args.len() != self.arguments.len() {
            return Ok(None);
        }
        let looks = self.looks();
        if let Runner::Itself(function, kinds) = &self.runner
            && !looks
            && kwargs.is_none()
            && let Some(is_alike) = self.tensors_are_alike(args, kinds)
        {
            return if is_alike { function.bind(py).call1(args.clone()).map(Some) } else { Ok(None) };
        }
        if modes_of_programs(false, false) != Some(self.modes) {
            return Ok(None);
        }
        let mut found = Found::new();
        for (i, pattern) in self.arguments.iter().enumerate() {
            if !pattern.matches(&*args.get_borrowed_item(i)?, &mut found)? {
                return Ok(None);
            }
        }
        match (&self.keywords, kwargs) {
            (None, None) => {}
            (Some(pattern), Some(kwargs)) if pattern.matches(kwargs, &mut found)? => {}
            _ => return Ok(None),
        }
        if looks {
            for lookup in &self.lookups {
                if !lookup.matches(py, &mut found)? {
                    return Ok(None);
                }
            }
        }
        if !are_distinct(&found) {
            return Ok(None);
        }
        let (program, shape) = match &self.runner {
            Runner::Program(program, shape) => (program, shape),
            Runner::Itself(function, kinds) => {
                let is_alike = found.iter().zip(kinds).all(|(x, kind)| kind.is_of(x));
                return if is_alike { function.bind(py).call(args, kwargs).map(Some) } else { Ok(None) };
            }
            Runner::Host(host) => {
                let result = host.bind(py).call1((PyList::new(py, found)?, args, kwargs))?;
                return if result.is_none() { Ok(None) } else { Ok(Some(result.get_item(0)?)) };
            }
        };
        let Some(outputs) = program.get().results(py, &found)? else { return Ok(None) };
        shape.filled(py, &mut outputs.into_iter().map(Bound::into_any)).map(Some)
    }
}

/// So many kinds of calls are remembered.
const RECENT: usize = 8;

/// The calls of a compiled function. A subclass has the method ``_call`` for calls that are not like the last ones.
#[pyclass(subclass, frozen, weakref, module = "ferrograd._core")]
pub struct CompiledCalls {
    /// The newest first.
    recent: Mutex<Recent>,
    runs: AtomicU64,
}

type Recent = SmallVec<[Arc<Call>; RECENT]>;

impl CompiledCalls {
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pattern {
    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Pattern::Tensor(t, _) => visit.call(t),
            Pattern::Same(x) | Pattern::Equal(x) => visit.call(x),
            Pattern::Object(x, kind) => visit.call(x).and_then(|()| visit.call(kind)),
            Pattern::Numbers(x, dtype, ..) => visit.call(x).and_then(|()| visit.call(dtype)),
            Pattern::Sequence(t, parts) => {
                visit.call(t)?;
                parts.iter().try_for_each(|part| part.visit(visit))
            }
            Pattern::Dict(t, parts) => {
                visit.call(t)?;
                parts.iter().try_for_each(|(key, part)| {
                    visit.call(key)?;
                    part.visit(visit)
                })
            }
            Pattern::Items(t, _, parts) => {
                visit.call(t)?;
                parts.iter().try_for_each(|(key, part)| {
                    if let Key::Name(name) = key {
                        visit.call(name)?;
                    }
                    part.visit(visit)
                })
            }
            Pattern::Fields(t, parts) => {
                visit.call(t)?;
                parts.iter().try_for_each(|(_, part)| part.visit(visit))
            }
            Pattern::All(parts) => parts.iter().try_for_each(|part| part.visit(visit)),
            Pattern::Kind(t) => visit.call(t),
            Pattern::Size(_) | Pattern::Absent | Pattern::Float(_) | Pattern::Any => Ok(()),
        }
    }
}

#[pymethods]
impl CompiledCalls {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(recent) = self.recent.try_lock() else { return Ok(()) };
        // A call that is running keeps what it needs alive by itself.
        recent.iter().filter(|call| Arc::strong_count(call) == 1).try_for_each(|call| {
            match &call.runner {
                Runner::Program(program, _) => visit.call(program)?,
                Runner::Host(host) => visit.call(host)?,
                Runner::Itself(function, _) => visit.call(function)?,
            }
            call.arguments.iter().chain(&call.keywords).try_for_each(|pattern| pattern.visit(&visit))?;
            call.lookups.iter().try_for_each(|lookup| {
                lookup.place.visit(&visit)?;
                lookup.pattern.visit(&visit)
            })
        })
    }

    fn __clear__(&self) {
        self._forget();
    }

    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> CompiledCalls {
        CompiledCalls { recent: Mutex::default(), runs: AtomicU64::new(0) }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let kwargs = kwargs.filter(|kwargs| !kwargs.is_empty());
        // No lock is held while a program runs.
        for i in 0..RECENT {
            let Some(call) = slf.get().recent().get(i).cloned() else { break };
            if let Some(result) = call.run(py, args, kwargs)? {
                slf.get().runs.fetch_add(1, Relaxed);
                warn_of_vectors(py)?;
                return Ok(result);
            }
        }
        let result = slf.call_method(intern!(py, "_call"), args, kwargs)?;
        warn_of_vectors(py)?;
        Ok(result)
    }

    /// How many calls ran without Python.
    #[getter]
    fn _runs(&self) -> u64 {
        self.runs.load(Relaxed)
    }

    /// Runs later calls like this one without looking at them in Python: with these modes, arguments, keywords and names.
    /// They are run by a program whose outputs make up a result of this shape, or by a function that gets the tensors, the
    /// arguments and the keywords (None if there are none). With the tensors of the call it is the function itself, which
    /// gets the arguments alone, and runs for tensors like these.
    #[pyo3(signature = (runner, arguments, keywords, lookups, shape, tensors=None))]
    #[expect(clippy::too_many_arguments, reason = "they are what makes up a call")]
    fn _remember(
        &self,
        runner: Py<PyAny>,
        arguments: Vec<Bound<'_, PyAny>>,
        keywords: Option<Bound<'_, PyAny>>,
        lookups: Vec<Bound<'_, PyAny>>,
        shape: Option<PyRef<'_, ResultShape>>,
        tensors: Option<Vec<Bound<'_, Var>>>,
        py: Python<'_>,
    ) -> PyResult<()> {
        let Some(modes) = modes_of_programs(false, false) else { return Ok(()) };
        let runner = match (shape, tensors) {
            (_, Some(tensors)) => Runner::Itself(runner, tensors.iter().map(Kind::of).collect()),
            (Some(shape), None) => {
                let program: Py<Compiled> = runner.extract(py)?;
                if program.get().outputs.len() != shape.0.outputs() {
                    return Err(raise(py, "ArgumentError", "the program has another number of outputs"));
                }
                Runner::Program(program, shape.0.clone())
            }
            (None, None) => Runner::Host(runner),
        };
        let lookup = |from: &Bound<'_, PyAny>| {
            let (place, name, pattern): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>, Bound<'_, PyAny>) =
                from.extract()?;
            Ok(Lookup { place: Place::new(place, name)?, pattern: Pattern::new(&pattern)? })
        };
        let call = Call {
            modes,
            arguments: arguments.iter().map(Pattern::new).collect::<PyResult<_>>()?,
            keywords: keywords.as_ref().map(Pattern::new).transpose()?,
            lookups: lookups.iter().map(lookup).collect::<PyResult<_>>()?,
            runner,
            asked: AtomicU32::new(0),
        };
        let mut recent = self.recent();
        let old = if recent.len() == RECENT { recent.pop() } else { None };
        recent.insert(0, Arc::new(call));
        drop(recent);
        drop(old);
        Ok(())
    }

    /// Forgets the last calls.
    fn _forget(&self) {
        let old = std::mem::take(&mut *self.recent());
        drop(old);
    }
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(program_modes, m)?)?;
    m.add_function(wrap_pyfunction!(contract_products, m)?)?;
    m.add_class::<CompiledCalls>()
}
