//! The measurements that `cargo bench` makes are the benches of this crate. It is apart from `ferrograd`, so that tests do
//! not wait for what measures time.
