//! What tmux calls: hooks, the timer, and the load that sets them up.

mod boot;
mod check;
mod hook;
mod hooks;
mod keys;
mod link;
mod load;
mod menu_view;
mod menus;
mod offer;
mod tell;
mod timer;
mod unload;

pub use boot::Booted;
pub use check::Standing;
pub use hook::{Event, Plugin};
pub use keys::{Does, KeyStanding};
pub use link::{Linked, link, stable_path};
pub use load::Loading;
pub use menus::Ask;
pub use offer::MOST_FAILURES;

/// What sidecar.tmux and the helper agree on. Raised, here and in `scripts/helper.sh`, when one of them no longer understands the
/// other: a plugin takes no helper of another number.
pub const API: u32 = 1;

#[cfg(test)]
mod tests {
    #[test]
    fn both_sides_name_the_same_api() {
        assert!(include_str!("../../scripts/helper.sh").contains(&format!("\napi={}\n", super::API)));
    }
}
