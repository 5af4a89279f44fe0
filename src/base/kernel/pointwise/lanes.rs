//! The numbers of expressions.

/// Floats, or the terms that the code generator has in their place.
pub trait Lanes: Copy {
    /// Whether [`Lanes::Wide`] has twice the digits.
    const IS_NARROW: bool;
    type Wide: Lanes;
    type Truth: Copy;
    fn lit(x: f64) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    /// `self · o - less`, rounded once.
    fn mul_sub(self, o: Self, less: Self) -> Self;
    fn equals(self, o: Self) -> Self::Truth;
    fn at_most(self, o: Self) -> Self::Truth;
    /// `x` where it holds, else `y`.
    fn select(holds: Self::Truth, x: Self, y: Self) -> Self;
    fn widened(self) -> Self::Wide;
    fn narrowed(wide: Self::Wide) -> Self;
}

macro_rules! floats {
    ($($t:ident $is_narrow:literal)*) => { $(
        impl Lanes for $t {
            const IS_NARROW: bool = $is_narrow;
            type Wide = f64;
            type Truth = bool;
            #[inline(always)] fn lit(x: f64) -> Self { x as $t }
            #[inline(always)] fn add(self, o: Self) -> Self { self + o }
            #[inline(always)] fn sub(self, o: Self) -> Self { self - o }
            #[inline(always)] fn mul(self, o: Self) -> Self { self * o }
            #[inline(always)] fn div(self, o: Self) -> Self { self / o }
            #[inline(always)] fn neg(self) -> Self { -self }
            #[inline(always)] fn abs(self) -> Self { <$t>::abs(self) }
            #[inline(always)] fn sqrt(self) -> Self { <$t>::sqrt(self) }
            #[inline(always)] fn mul_sub(self, o: Self, less: Self) -> Self { self.mul_add(o, -less) }
            #[inline(always)] fn equals(self, o: Self) -> bool { self == o }
            #[inline(always)] fn at_most(self, o: Self) -> bool { self <= o }
            #[inline(always)] fn select(holds: bool, x: Self, y: Self) -> Self { if holds { x } else { y } }
            #[inline(always)] fn widened(self) -> f64 { f64::from(self) }
            #[inline(always)] fn narrowed(wide: f64) -> Self { wide as $t }
        }
    )* };
}
floats!(f32 true f64 false);
