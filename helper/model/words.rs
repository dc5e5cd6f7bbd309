//! Words that several rooms say.

/// `1 window`, `2 windows`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
