//! What tmux calls: hooks, the timer, and the load that sets them up.

mod hook;
mod hooks;
mod link;
mod load;
mod timer;
mod unload;

pub use hook::{Event, Plugin};
pub use link::{Linked, link, stable_path};
pub use load::Loading;

/// What sidecar.tmux and the helper agree on. Raised, here and in `scripts/helper.sh`, when one of them no longer understands the
/// other: a plugin takes no helper of another number.
pub const API: u32 = 1;

/// The hidden environment variable that names the keys which the plugin bound in the prefix table, apart by spaces.
const KEYS: &str = "SIDECAR_KEYS";

#[cfg(test)]
mod tests {
    #[test]
    fn both_sides_name_the_same_api() {
        assert!(include_str!("../../scripts/helper.sh").contains(&format!("\napi={}\n", super::API)));
    }
}
