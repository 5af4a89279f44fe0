//! The random numbers of PyTorch's generator for CPUs: the words of MT19937 (M. Matsumoto, T. Nishimura: Mersenne Twister,
//! ACM TOMACS 8, 1998), and what PyTorch makes of them, in the order in which it takes them.

use std::f64::consts::PI;

use crate::kernel::simd;

/// Words of the state.
pub const WORDS: usize = 624;
/// How far the word is that a new one is mixed with.
const SHIFT: usize = 397;

/// A generator: the words of its state, how many of them are left, and where the next one is. The last two are PyTorch's,
/// so that its states can be read: a new generator has one word "left", after which the state is made anew.
#[derive(Clone)]
pub struct Mersenne {
    pub seed: u64,
    pub words: [u32; WORDS],
    pub left: u32,
    pub next: u32,
    /// The second number of a pair of normal ones whose first one is taken.
    pub normal: Option<f64>,
    /// The same in float32, which nothing here draws: a state of PyTorch's may have it.
    pub normal32: Option<f32>,
}

/// A word of the state from two words and one farther on.
#[inline(always)]
fn twisted(a: u32, b: u32, far: u32) -> u32 {
    let odd = (b & 1).wrapping_neg();
    far ^ (((a & 0x8000_0000) | (b & 0x7fff_ffff)) >> 1) ^ (odd & 0x9908_b0df)
}

/// A word of the stream from a word of the state.
#[inline(always)]
fn tempered(y: u32) -> u32 {
    let y = y ^ (y >> 11);
    let y = y ^ ((y << 7) & 0x9d2c_5680);
    let y = y ^ ((y << 15) & 0xefc6_0000);
    y ^ (y >> 18)
}

impl Mersenne {
    /// The generator of a seed, of which the low half counts.
    pub fn new(seed: u64) -> Mersenne {
        let mut words = [0; WORDS];
        let mut word = seed as u32;
        words[0] = word;
        for (i, to) in words.iter_mut().enumerate().skip(1) {
            word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
            *to = word;
        }
        Mersenne { seed, words, left: 1, next: 0, normal: None, normal32: None }
    }

    /// Makes the next words of the state, of which none is taken.
    fn renew(&mut self) {
        let s = &mut self.words;
        for i in 0..WORDS - SHIFT {
            s[i] = twisted(s[i], s[i + 1], s[i + SHIFT]);
        }
        for i in WORDS - SHIFT..WORDS - 1 {
            s[i] = twisted(s[i], s[i + 1], s[i + SHIFT - WORDS]);
        }
        s[WORDS - 1] = twisted(s[WORDS - 1], s[0], s[SHIFT - 1]);
        (self.left, self.next) = (WORDS as u32 + 1, 0);
    }

    /// The next words of the stream.
    pub fn fill(&mut self, out: &mut [u32]) {
        let mut at = 0;
        while at < out.len() {
            if self.left <= 1 {
                simd::autovectorize(
                    #[inline(always)]
                    || self.renew(),
                );
            }
            let n = (self.left as usize - 1).min(out.len() - at);
            let from = self.next as usize;
            let (to, words) = (&mut out[at..at + n], &self.words[from..from + n]);
            simd::autovectorize(
                #[inline(always)]
                move || {
                    for i in 0..to.len() {
                        to[i] = tempered(words[i]);
                    }
                },
            );
            self.left -= n as u32;
            self.next += n as u32;
            at += n;
        }
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        if self.left > 2 {
            let from = self.next as usize;
            self.left -= 2;
            self.next += 2;
            return unit64([tempered(self.words[from]), tempered(self.words[from + 1])]);
        }
        let mut words = [0; 2];
        self.fill(&mut words);
        unit64(words)
    }

    /// One normal number. Two are made at a time, and the second one is kept (G. Box, M. Muller, 1958).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(kept) = self.normal.take() {
            return kept;
        }
        let (angle, share) = (2.0 * PI * self.unit(), self.unit());
        let radius = (-2.0 * (-share).ln_1p()).sqrt();
        self.normal = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// One number of the gamma distribution of a shape `a` and scale 1.
    #[inline]
    pub fn gamma(&mut self, a: f64) -> f64 {
        if a == 0.0 {
            return 0.0;
        }
        let (x, u) = self.gamma_parts(a);
        if u == 1.0 { x } else { u.powf(1.0 / a) * x }
    }

    /// The logarithm of a number that [`Mersenne::gamma`] would draw, which is finite for small shapes too.
    pub fn log_gamma(&mut self, a: f64) -> f64 {
        let (x, u) = self.gamma_parts(a);
        if u == 1.0 { x.ln() } else { x.ln() + u.ln() / a }
    }

    /// Two numbers `x` and `u` whose `x u^(1/a)` has the gamma distribution (G. Marsaglia, W. Tsang, 2000). A shape below 1 is
    /// raised by 1, for which the power of a uniform number makes up.
    #[inline]
    fn gamma_parts(&mut self, a: f64) -> (f64, f64) {
        let (a, scale) = if a < 1.0 { (a + 1.0, 1.0 - self.unit()) } else { (a, 1.0) };
        let d = a - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let y = 1.0 + c * x;
            if y <= 0.0 {
                continue;
            }
            let v = y * y * y;
            let (u, xx) = (1.0 - self.unit(), x * x);
            if u < 1.0 - 0.0331 * xx * xx || u.ln() < 0.5 * xx + d * (1.0 - v + v.ln()) {
                return (d * v, scale);
            }
        }
    }

    /// One number of the Poisson distribution: by transformed rejection (W. Hörmann, 1993), for rates below 10 by a product of
    /// uniform numbers.
    #[inline]
    pub fn poisson(&mut self, rate: f64) -> f64 {
        if rate == 0.0 {
            return 0.0;
        }
        if rate < 10.0 {
            return self.few_events(rate);
        }
        let root = rate.sqrt();
        let b = 0.931 + 2.53 * root;
        let a = -0.059 + 0.02483 * b;
        let (inverse, limit) = (1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0));
        loop {
            let (u, v) = (self.unit() - 0.5, self.unit());
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
            if us >= 0.07 && v <= limit {
                return k;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            let share = v.ln() + inverse.ln() - (a / (us * us) + b).ln();
            if share <= k * rate.ln() - rate - libm::lgamma(k + 1.0) {
                return k;
            }
        }
    }

    /// Loops over a few numbers are slower where they are compiled in place.
    #[inline(never)]
    fn few_events(&mut self, rate: f64) -> f64 {
        let (end, mut product, mut count) = ((-rate).exp(), self.unit(), 0.0);
        while product > end {
            product *= self.unit();
            count += 1.0;
        }
        count
    }

    /// One number of successes in `n` trials, each with the probability `p`: by transformed rejection (W. Hörmann, 1993), and
    /// by the lengths of the runs of failures where few successes are expected. With `is_single`, `n` and `p` are float32,
    /// and what PyTorch computes in that dtype is rounded to it.
    pub fn binomial(&mut self, n: f64, p: f64, is_single: bool) -> f64 {
        if n <= 0.0 || p <= 0.0 {
            return 0.0;
        }
        if p >= 1.0 {
            return n;
        }
        let rounded = |x: f64| if is_single { f64::from(x as f32) } else { x };
        let less = if p <= 0.5 { p } else { rounded(1.0 - p) };
        let expected = rounded(n * less);
        let found = if expected >= 10.0 {
            self.many_successes(n, less, expected, rounded)
        } else {
            self.few_successes(n, less, rounded)
        };
        if p <= 0.5 { found } else { rounded(n - found) }
    }

    fn few_successes(&mut self, n: f64, p: f64, rounded: impl Fn(f64) -> f64) -> f64 {
        let failure = rounded((-p).ln_1p());
        let (mut trials, mut count) = (0.0, 0.0);
        loop {
            trials += (self.unit().ln() / failure).ceil();
            if trials > n {
                return count;
            }
            count += 1.0;
        }
    }

    fn many_successes(&mut self, n: f64, p: f64, expected: f64, rounded: impl Fn(f64) -> f64) -> f64 {
        let q = rounded(1.0 - p);
        let deviation = rounded(rounded(expected * q).sqrt());
        let b = 1.15 + 2.53 * deviation;
        let a = -0.0873 + 0.0248 * b + 0.01 * p;
        let (c, limit, odds) = (expected + 0.5, 0.92 - 4.2 / b, rounded(p / q));
        let alpha = (2.83 + 5.1 / b) * deviation;
        let mode = rounded(rounded(n + 1.0) * p).floor();
        loop {
            let (u, v) = (self.unit() - 0.5, self.unit());
            let us = 0.5 - u.abs();
            let k = rounded(((2.0 * a / us + b) * u + c).floor());
            if k < 0.0 || k > n {
                continue;
            }
            if us >= 0.07 && v <= limit {
                return k;
            }
            let share = (v * alpha / (a / (us * us) + b)).ln();
            let failures = rounded(rounded(n - k) + 1.0);
            let bound = (mode + 0.5) * ((mode + 1.0) / (odds * (n - mode + 1.0))).ln()
                + rounded(n + 1.0) * ((n - mode + 1.0) / failures).ln()
                + (k + 0.5) * (odds * failures / rounded(k + 1.0)).ln()
                + stirling_rest(mode)
                + stirling_rest(n - mode)
                - stirling_rest(k)
                - stirling_rest(rounded(n - k));
            if share <= bound {
                return k;
            }
        }
    }

    /// The state as PyTorch writes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES);
        out.extend(self.seed.to_le_bytes());
        out.extend(self.left.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(u64::from(self.next).to_le_bytes());
        for word in self.words {
            out.extend(u64::from(word).to_le_bytes());
        }
        // The first number of the pair and the radius are nobody's any more.
        out.extend([0; 8]);
        out.extend(self.normal.unwrap_or(0.0).to_le_bytes());
        out.extend([0; 8]);
        out.extend(u64::from(self.normal.is_some()).to_le_bytes());
        out.extend(self.normal32.unwrap_or(0.0).to_le_bytes());
        out.extend(u32::from(self.normal32.is_some()).to_le_bytes());
        out
    }

    /// A state that PyTorch or [`Mersenne::to_bytes`] wrote. None if it is no such state.
    pub fn from_bytes(bytes: &[u8]) -> Option<Mersenne> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (left, next) = (short(8), u32::try_from(long(16)).ok()?);
        // As many words are left as lie behind the next one, and perhaps fewer.
        if short(12) != 1 || left == 0 || u64::from(left - 1) + u64::from(next) > WORDS as u64 {
            return None;
        }
        let mut words = [0; WORDS];
        for (i, word) in words.iter_mut().enumerate() {
            *word = long(HEAD + 8 * i) as u32;
        }
        let tail = HEAD + 8 * WORDS;
        let normal = (short(tail + 24) != 0).then(|| f64::from_bits(long(tail + 8)));
        let normal32 = (bytes[tail + 36] != 0).then(|| f32::from_bits(short(tail + 32)));
        Some(Mersenne { seed: long(0), words, left, next, normal, normal32 })
    }
}

/// The logarithm of `k!` less Stirling's formula for it, for `k` up to 9.
const STIRLING_REST: [f64; 10] = [
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_3,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_193,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
];

fn stirling_rest(k: f64) -> f64 {
    if k <= 9.0 {
        return STIRLING_REST[k as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

/// Bytes of a state before its words, and in all: the seed, what is left, whether it has a seed, the next word; the words, each
/// in eight bytes; and the numbers that are kept.
const HEAD: usize = 24;
pub const BYTES: usize = HEAD + 8 * WORDS + 40;

/// Uniform in [0, 1), a multiple of 2⁻²⁴.
#[inline(always)]
pub fn unit32([word]: [u32; 1]) -> f32 {
    (word & 0xff_ffff) as f32 * (1.0 / (1u32 << 24) as f32)
}

/// Uniform in [0, 1), a multiple of 2⁻⁵³.
#[inline(always)]
pub fn unit64(words: [u32; 2]) -> f64 {
    (whole(words) & ((1 << 53) - 1)) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Two words as one integer. The first one is the upper half.
#[inline(always)]
pub fn whole([high, low]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Numbers that are made normal together: the first half gives the radii, the second one the angles.
pub const BLOCK: usize = 16;
const HALF: usize = BLOCK / 2;

/// Makes blocks of uniform numbers normal.
pub fn normal64(out: &mut [f64], mean: f64, std: f64) {
    for block in out.chunks_exact_mut(BLOCK) {
        for i in 0..HALF {
            let radius = (-2.0 * (1.0 - block[i]).ln()).sqrt();
            let (sin, cos) = (2.0 * PI * block[i + HALF]).sin_cos();
            block[i] = (radius * cos).mul_add(std, mean);
            block[i + HALF] = (radius * sin).mul_add(std, mean);
        }
    }
}

/// Makes blocks of uniform numbers normal. Every product that is added to something is rounded with the sum, because that is
/// what the compiler makes of PyTorch's loop.
pub fn normal32(out: &mut [f32], mean: f32, std: f32) {
    simd::autovectorize(
        #[inline(always)]
        move || {
            for block in out.as_chunks_mut::<BLOCK>().0 {
                for i in 0..HALF {
                    let radius = (-2.0 * log32(1.0 - block[i])).sqrt();
                    let (sin, cos) = sin_cos32((2.0 * PI) as f32 * block[i + HALF]);
                    block[i] = (radius * cos).mul_add(std, mean);
                    block[i + HALF] = (radius * sin).mul_add(std, mean);
                }
            }
        },
    );
}

/// A polynomial, its highest coefficient first.
macro_rules! series {
    ($x:expr; $first:expr $(, $c:expr)*) => {{ let p: f32 = $first; $( let p = p.mul_add($x, $c); )* p }};
}

/// The logarithm of a number in (0, 1] (S. Moshier: Cephes Mathematical Library, `logf`).
#[inline(always)]
fn log32(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 126;
    let half = f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000);
    let small = half < std::f32::consts::FRAC_1_SQRT_2;
    let e = exponent as f32 - if small { 1.0 } else { 0.0 };
    let x = (half - 1.0) + if small { half } else { 0.0 };
    let z = x * x;
    let p = series!(x; 7.037_683_6e-2, -1.151_461e-1, 1.167_699_84e-1, -1.242_014_1e-1, 1.424_932_3e-1, -1.666_805_8e-1, 2.000_071_4e-1, -2.499_999_4e-1, 3.333_333e-1);
    let y = (p * x).mul_add(z, e * -2.121_944_4e-4);
    e.mul_add(0.693_359_4, x + (y - z * 0.5))
}

/// Sine and cosine of a number in [0, 2π] (S. Moshier: Cephes Mathematical Library, `sinf`).
#[inline(always)]
fn sin_cos32(x: f32) -> (f32, f32) {
    let octant = ((x * 1.273_239_5) as i32 + 1) & !1;
    let y = octant as f32;
    // A quarter of π in three parts.
    let x = y.mul_add(-0.785_156_25, x);
    let x = y.mul_add(-2.418_756_5e-4, x);
    let x = y.mul_add(-3.774_895e-8, x);
    let z = x * x;
    let p = series!(z; 2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2) * z;
    let cos = p.mul_add(z, -(z * 0.5)) + 1.0;
    let sin = (series!(z; -1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1) * z).mul_add(x, x);
    let (sin, cos) = if octant & 2 == 0 { (sin, cos) } else { (cos, sin) };
    let sign_of_sin = ((octant & 4) as u32) << 29;
    let sign_of_cos = (!(octant - 2) as u32 & 4) << 29;
    (f32::from_bits(sin.to_bits() ^ sign_of_sin), f32::from_bits(cos.to_bits() ^ sign_of_cos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &mut Mersenne, n: usize) -> Vec<u32> {
        let mut out = vec![0; n];
        source.fill(&mut out);
        out
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is about numbers, and touches no memory by address")]
    fn the_words_are_the_published_ones() {
        // The first outputs of the reference implementation for its default seed, and the ten-thousandth, which C++ names.
        let found = words(&mut Mersenne::new(5489), 10_000);
        assert_eq!(found[..4], [3_499_211_612, 581_869_302, 3_890_346_734, 3_586_334_585]);
        assert_eq!(found[9_999], 4_123_659_995);
    }

    #[test]
    fn words_are_the_same_however_many_are_taken_at_once() {
        let all = words(&mut Mersenne::new(7), 3000);
        let mut source = Mersenne::new(7);
        let mut found = vec![];
        for n in [1, 2, 620, 1, 1, 623, 1250, 502] {
            found.extend(words(&mut source, n));
        }
        assert_eq!(found, all);
    }

    #[test]
    fn a_state_goes_on_where_it_was() {
        let mut source = Mersenne::new(3);
        let fresh = Mersenne::from_bytes(&source.to_bytes()).expect("a state");
        assert_eq!((fresh.left, fresh.next), (1, 0));
        source.normal();
        let mut again = Mersenne::from_bytes(&source.to_bytes()).expect("a state");
        assert_eq!((again.left, again.next), (621, 4));
        assert_eq!(again.normal().to_bits(), source.normal().to_bits());
        assert_eq!(words(&mut again, 700), words(&mut source, 700));
    }

    #[test]
    fn what_is_no_state_is_refused() {
        let whole = Mersenne::new(3).to_bytes();
        assert_eq!(whole.len(), 5056);
        for (at, byte) in [(8, 0), (9, 3), (12, 0), (17, 3), (23, 1)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            assert!(Mersenne::from_bytes(&bytes).is_none(), "{at}");
        }
        assert!(Mersenne::from_bytes(&whole[1..]).is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is about numbers, and touches no memory by address")]
    fn logarithm_sine_and_cosine_are_close() {
        for i in 0..10_000 {
            let x = (i as f32 + 1.0) / 10_000.0;
            assert!((log32(x) - x.ln()).abs() <= 2e-7 * x.ln().abs().max(1.0), "{x}");
            let (sin, cos) = sin_cos32(2.0 * PI as f32 * x);
            let (s, c) = (2.0 * PI as f32 * x).sin_cos();
            assert!((sin - s).abs() < 2e-7 && (cos - c).abs() < 2e-7, "{x}");
        }
    }
}
