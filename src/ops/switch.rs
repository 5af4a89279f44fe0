//! Switches of a thread that a host turns on for one call.

use std::cell::Cell;
use std::thread::LocalKey;

/// Calls `f` with the switch on. Afterwards it is as it was, also if `f` panics.
pub fn on<R>(switch: &'static LocalKey<Cell<bool>>, f: impl FnOnce() -> R) -> R {
    struct Before(&'static LocalKey<Cell<bool>>, bool);
    impl Drop for Before {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _before = Before(switch, switch.replace(true));
    f()
}
