//! `einsum` and `tensordot`: sums of products, computed pair by pair as matrix products.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::matmul::product;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::Tensor;
use crate::ops::entry::{Pairs, Rest, op};
use crate::ops::movement::{cast, diagonal_of, permute_dims, reshape_to};
use crate::ops::pointwise::arithmetic::multiply_same;
use crate::ops::promote::{Class, promoted};
use crate::ops::reduce::sum;
use crate::shape::{self, Dims};

/// A letter, or an axis of the ellipsis, counted from its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// Ordered so that the first axis of the ellipsis comes first.
    Rest(std::cmp::Reverse<usize>),
    Letter(char),
}

type Labels = SmallVec<[Label; 6]>;

/// A tensor with a label for each axis, each once.
struct Term {
    labels: Labels,
    x: Tensor,
}

/// A parsed formula: the labels of each operand and of the result.
struct Formula {
    operands: Vec<Labels>,
    result: Labels,
}

const OP: &str = "einsum";

impl Formula {
    fn parse(text: &str, ranks: &[usize]) -> Result<Formula> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match compact.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (compact.as_str(), None),
        };
        let parts: Vec<&str> = left.split(',').collect();
        if parts.len() != ranks.len() {
            bail!(
                Argument,
                OP,
                "'{text}' is a formula of {} operands, {} were given",
                parts.len(),
                ranks.len()
            );
        }
        let operands = parts
            .iter()
            .zip(ranks)
            .enumerate()
            .map(|(i, (part, &rank))| {
                let letters = part.replacen("...", "", 1).chars().count();
                let dots = part.contains("...").then(|| rank.saturating_sub(letters));
                if letters + dots.unwrap_or(0) != rank {
                    bail!(Shape, OP, "'{part}' in '{text}' names {letters} axes, operand {i} has {rank}");
                }
                labels(text, part, dots.unwrap_or(0))
            })
            .collect::<Result<Vec<Labels>>>()?;
        let dots = operands.iter().flatten().filter_map(|l| match l {
            Label::Rest(i) => Some(i.0 + 1),
            Label::Letter(_) => None,
        });
        let dots = dots.max().unwrap_or(0);
        let result = match right {
            Some(right) => labels(text, right, dots)?,
            None => implicit(&operands),
        };
        for (i, l) in result.iter().enumerate() {
            if result[..i].contains(l) {
                bail!(Argument, OP, "'{text}' names an axis of the result twice");
            }
            if let (Label::Letter(c), false) = (l, operands.iter().any(|o| o.contains(l))) {
                bail!(Argument, OP, "'{text}': no operand has the axis '{c}' of the result");
            }
        }
        Ok(Formula { operands, result })
    }
}

/// The labels of one part of a formula whose ellipsis stands for `dots` axes.
fn labels(text: &str, part: &str, dots: usize) -> Result<Labels> {
    let (before, after) = part.split_once("...").map_or((part, None), |(b, a)| (b, Some(a)));
    let letters = |part: &str| -> Result<Labels> {
        let letter = |c: char| match c {
            'a'..='z' | 'A'..='Z' => Ok(Label::Letter(c)),
            _ => bail!(Argument, OP, "'{c}' in '{text}' is not a letter, '...', ',' or '->'"),
        };
        part.chars().map(letter).collect()
    };
    let mut out = letters(before)?;
    if let Some(after) = after {
        out.extend((0..dots).rev().map(|i| Label::Rest(std::cmp::Reverse(i))));
        out.extend(letters(after)?);
    }
    Ok(out)
}

/// The result of a formula without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
fn implicit(operands: &[Labels]) -> Labels {
    let mut all: Labels = operands.iter().flatten().copied().collect();
    shape::sort_by_key(&mut all, |&l| l);
    let count = |l: Label| all.iter().filter(|&&o| o == l).count();
    let mut result: Labels =
        all.iter().copied().filter(|&l| matches!(l, Label::Rest(_)) || count(l) == 1).collect();
    result.dedup();
    result
}

/// The sizes of all labels of a formula.
struct Sizes(SmallVec<[(Label, usize); 8]>);

impl Sizes {
    fn of(text: &str, terms: &[Term]) -> Result<Sizes> {
        let mut sizes = Sizes(SmallVec::new());
        for (&label, &size) in terms.iter().flat_map(|t| t.labels.iter().zip(t.x.dims())) {
            match sizes.0.iter_mut().find(|s| s.0 == label) {
                None => sizes.0.push((label, size)),
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) if size == 1 || size == *known => {}
                Some((_, known)) => {
                    bail!(Shape, OP, "'{text}': an axis of one label has the sizes {known} and {size}")
                }
            }
        }
        Ok(sizes)
    }

    fn get(&self, label: Label) -> usize {
        self.0.iter().find(|s| s.0 == label).map_or(1, |s| s.1)
    }

    fn dims(&self, labels: &[Label]) -> Dims {
        labels.iter().map(|&l| self.get(l)).collect()
    }

    fn len(&self, labels: impl IntoIterator<Item = Label>) -> f64 {
        labels.into_iter().map(|l| self.get(l) as f64).product()
    }
}

impl Term {
    /// The operand with each label once: labels that repeat become the diagonal of their axes.
    fn new(text: &str, mut labels: Labels, mut x: Tensor) -> Result<Term> {
        while let Some((i, j)) = repeated(&labels) {
            if x.dims()[i] != x.dims()[j] {
                bail!(
                    Shape,
                    OP,
                    "'{text}': a repeated label has the sizes {} and {}",
                    x.dims()[i],
                    x.dims()[j]
                );
            }
            let order: Vec<i64> =
                (0..labels.len()).filter(|&a| a != i && a != j).chain([i, j]).map(|a| a as i64).collect();
            x = diagonal_of(&permute_dims(&x, &order)?)?;
            let label = labels.remove(j);
            labels.remove(i);
            labels.push(label);
        }
        Ok(Term { labels, x })
    }

    /// Drops the axes of size 1 whose label has a larger size elsewhere, where they broadcast.
    fn squeezed(mut self, sizes: &Sizes) -> Result<Term> {
        let dims: Dims = self.x.dims().into();
        let stays = |l: Label, d: usize| d == sizes.get(l);
        let kept: Dims =
            self.labels.iter().zip(&dims).filter(|(l, d)| stays(**l, **d)).map(|(_, &d)| d).collect();
        let mut d = dims.iter();
        self.labels.retain(|l| stays(*l, *d.next().expect("one size a label")));
        Ok(Term { x: reshape_to(&self.x, &kept)?, labels: self.labels })
    }

    /// Summed over the labels that are not kept.
    fn summed(self, kept: impl Fn(Label) -> bool) -> Result<Term> {
        let axes: Vec<i64> = (0..).zip(&self.labels).filter(|(_, l)| !kept(**l)).map(|(i, _)| i).collect();
        if axes.is_empty() {
            return Ok(self);
        }
        let x = sum(&self.x, Some(&axes), false, Some(self.x.dtype()))?;
        Ok(Term { x, labels: self.labels.into_iter().filter(|l| kept(*l)).collect() })
    }

    /// The axes in the order of these labels, all of which it has.
    fn ordered(&self, labels: &[Label]) -> Result<Tensor> {
        if self.labels.as_slice() == labels {
            return Ok(self.x.clone());
        }
        let at = |l: &Label| self.labels.iter().position(|o| o == l).expect("it has the label") as i64;
        permute_dims(&self.x, &labels.iter().map(at).collect::<Vec<i64>>())
    }

    /// The product of two terms, summed over the labels that are not kept.
    fn times(self, other: Term, sizes: &Sizes, kept: impl Fn(Label) -> bool) -> Result<Term> {
        let (a, b) = (&self.labels, &other.labels);
        let x = self.labels.clone();
        let x = Term { x: self.x.clone(), labels: x }.summed(|l| kept(l) || b.contains(&l))?;
        let y = Term { x: other.x.clone(), labels: b.clone() }.summed(|l| kept(l) || a.contains(&l))?;
        let both = |l: &Label| x.labels.contains(l) && y.labels.contains(l);
        let pick = |from: &Labels, f: &dyn Fn(&Label) -> bool| {
            from.iter().copied().filter(|l| f(l)).collect::<Labels>()
        };
        let batch = pick(&x.labels, &|l| both(l) && kept(*l));
        let inner = pick(&x.labels, &|l| both(l) && !kept(*l));
        let rows = pick(&x.labels, &|l| !both(l));
        let columns = pick(&y.labels, &|l| !both(l));
        let list = |parts: &[&Labels]| parts.iter().flat_map(|p| p.iter().copied()).collect::<Labels>();
        let labels = list(&[&batch, &rows, &columns]);
        let one = |l: &Labels| Labels::from_elem(Label::Letter(' '), l.len());
        let (left, right) = if inner.is_empty() {
            // Nothing is summed: this is an element-wise product of operands that have size 1 on each other's
            // axes.
            (list(&[&batch, &rows, &one(&columns)]), list(&[&batch, &one(&rows), &columns]))
        } else {
            (list(&[&batch, &rows, &inner]), list(&[&batch, &inner, &columns]))
        };
        let (x, y) =
            (x.ordered(&list(&[&batch, &rows, &inner]))?, y.ordered(&list(&[&batch, &inner, &columns]))?);
        if inner.is_empty() {
            let (x, y) = (reshape_to(&x, &sizes.dims(&left))?, reshape_to(&y, &sizes.dims(&right))?);
            return Ok(Term { x: multiply_same(&x, &y)?, labels });
        }
        let size = |l: &Labels| shape::len(&sizes.dims(l));
        let matrix = |rows: &Labels, columns: &Labels| -> Dims {
            sizes.dims(&batch).into_iter().chain([size(rows), size(columns)]).collect()
        };
        let (x, y) = (reshape_to(&x, &matrix(&rows, &inner))?, reshape_to(&y, &matrix(&inner, &columns))?);
        let x = reshape_to(&product(&x, &y)?, &sizes.dims(&labels))?;
        Ok(Term { x, labels })
    }
}

/// The first two places of a label that occurs twice.
fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|i| Some((i, labels[i + 1..].iter().position(|l| *l == labels[i])? + i + 1)))
}

/// The pair whose product is cheapest, by multiplications and then by the size of what is left.
fn cheapest(terms: &[Term], sizes: &Sizes, result: &[Label]) -> (usize, usize) {
    let cost = |i: usize, j: usize| {
        let (a, b) = (&terms[i].labels, &terms[j].labels);
        let all = || a.iter().chain(b.iter().filter(|l| !a.contains(l))).copied();
        let elsewhere = |l: &Label| {
            result.contains(l) || (0..terms.len()).any(|k| k != i && k != j && terms[k].labels.contains(l))
        };
        (sizes.len(all()), sizes.len(all().filter(elsewhere)))
    };
    let pairs = (0..terms.len()).flat_map(|i| (i + 1..terms.len()).map(move |j| (i, j)));
    pairs
        .min_by(|&p, &q| cost(p.0, p.1).partial_cmp(&cost(q.0, q.1)).unwrap_or(std::cmp::Ordering::Equal))
        .expect("two terms")
}

/// The sum of products that a formula describes: 'ij,jk->ik' is Σⱼ x[i, j] · y[j, k].
///
/// A letter that occurs twice in an operand takes the diagonal; letters that are not in the result are summed
/// over; '...' stands for the axes without a letter; axes of size 1 broadcast. Without '->' the result has
/// the letters that occur once, in alphabetical order. The operands follow, or come as one list; more than
/// two are multiplied pair by pair, the cheapest first.
///
/// ```python
/// >>> fg.einsum('ij,jk->ik', fg.ones((2, 3)), fg.ones((3, 4))).shape
/// (2, 4)
/// ```
#[op(function, heavy)]
pub fn einsum(subscripts: &str, operands: Rest<'_>) -> Result<Tensor> {
    let Some(first) = operands.0.first() else { bail!(Argument, OP, "no operand was given") };
    let dtype = operands.0.iter().fold(first.dtype(), |d, t| d.promote(t.dtype()));
    if dtype == DType::Bool {
        bail!(Dtype, OP, "not defined for bool; cast to an integer or a float first");
    }
    let ranks: Vec<usize> = operands.0.iter().map(Tensor::rank).collect();
    let formula = Formula::parse(subscripts, &ranks)?;
    let terms = formula.operands.into_iter().zip(operands.0);
    let mut terms: Vec<Term> =
        terms.map(|(labels, x)| Term::new(subscripts, labels, cast(x, dtype)?)).collect::<Result<_>>()?;
    let sizes = Sizes::of(subscripts, &terms)?;
    terms = terms.into_iter().map(|t| t.squeezed(&sizes)).collect::<Result<_>>()?;
    while terms.len() > 1 {
        let (i, j) = cheapest(&terms, &sizes, &formula.result);
        let (y, x) = (terms.remove(j), terms.remove(i));
        let kept = |l: Label| formula.result.contains(&l) || terms.iter().any(|t| t.labels.contains(&l));
        let product = x.times(y, &sizes, kept)?;
        terms.insert(i, product);
    }
    let last = terms.remove(0).summed(|l| formula.result.contains(&l))?;
    last.ordered(&formula.result)
}

/// The products summed over pairs of axes: the last `axes` of x with the first of y, or two lists of axes.
///
/// ```python
/// >>> fg.tensordot(fg.ones((2, 3, 4)), fg.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
/// (2, 5)
/// ```
#[op(function, heavy)]
pub fn tensordot(x: &Tensor, y: &Tensor, #[default(2)] axes: Pairs<'_>) -> Result<Tensor> {
    const OP: &str = "tensordot";
    let (x, y) = promoted(Class::Num, x.into(), y.into())?;
    let (m, n) = (x.rank(), y.rank());
    let (over_x, over_y): (Dims, Dims) = match axes {
        Pairs::Count(k) => match usize::try_from(k) {
            Ok(k) if k <= m && k <= n => ((m - k..m).collect(), (0..k).collect()),
            _ => bail!(Argument, OP, "axes={k} for {:?} and {:?}", x.dims(), y.dims()),
        },
        Pairs::Named(a, b) => {
            if a.len() != b.len() {
                bail!(Argument, OP, "{} axes are paired with {}", a.len(), b.len());
            }
            shape::axes(OP, a, m)?;
            shape::axes(OP, b, n)?;
            let at =
                |list: &[i64], rank| list.iter().map(|&i| shape::axis(OP, i, rank)).collect::<Result<Dims>>();
            (at(a, m)?, at(b, n)?)
        }
    };
    // Of a pair of axes with one of size 1, that of the other tensor is summed.
    let (mut x, mut y) = (x, y);
    for (&i, &j) in over_x.iter().zip(&over_y) {
        let (a, b) = (x.dims()[i], y.dims()[j]);
        if a == 1 && b != 1 {
            y = Cow::Owned(sum(&y, Some(&[j as i64]), true, Some(y.dtype()))?);
        } else if b == 1 && a != 1 {
            x = Cow::Owned(sum(&x, Some(&[i as i64]), true, Some(x.dtype()))?);
        } else if a != b {
            bail!(Shape, OP, "{:?} and {:?}: axes {i} and {j} differ in size", x.dims(), y.dims());
        }
    }
    let free = |rank: usize, over: &[usize]| (0..rank).filter(|a| !over.contains(a)).collect::<Dims>();
    let (rows, columns) = (free(m, &over_x), free(n, &over_y));
    let ordered = |t: &Tensor, a: &[usize], b: &[usize]| -> Result<Tensor> {
        let size = |axes: &[usize]| axes.iter().map(|&i| t.dims()[i]).product::<usize>();
        let matrix = [size(a), size(b)];
        reshape_to(&permute_dims(t, &a.iter().chain(b).map(|&i| i as i64).collect::<Vec<_>>())?, &matrix)
    };
    let out = product(&ordered(&x, &rows, &over_x)?, &ordered(&y, &over_y, &columns)?)?;
    let dims = rows.iter().map(|&i| x.dims()[i]).chain(columns.iter().map(|&i| y.dims()[i]));
    reshape_to(&out, &dims.collect::<Dims>())
}
