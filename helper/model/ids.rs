//! The stable ids that a shell, a window and a pane keep for life.

/// Where new ids come from: random ones in the product, counted ones in tests.
pub trait Ids {
    /// A fresh id with this prefix (`sh`, `wn`, `pn`), of the form that [`is_id`] accepts.
    fn fresh(&mut self, prefix: &str) -> String;
}

/// Whether `text` has the form of an id. A tmux user option can hold anything, so what does not look like an id is none.
pub fn is_id(text: &str) -> bool {
    (4..=40).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn only_plain_lower_case_words_are_ids() {
        for good in ["sh-0a1b2c3d4e", "pn-zzzz"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "sh", "-sh-1234", "sh 1234", "sh-12;34", "sh-#{pid}", "SH-1234", "sh-é234", &"a".repeat(41)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
