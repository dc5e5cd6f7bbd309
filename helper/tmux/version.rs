//! tmux's version strings.

/// A tmux version, for comparisons: `3.3a`, `next-3.9`, `3.6-rc2`, `master`. What can't be read counts as the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// The oldest that is supported: 3.2 brought `run-shell -d`, hidden environment variables and `-e`.
    pub const OLDEST: Self = Self { major: 3, minor: 2 };

    /// Of these numbers.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Reads `#{version}` or what follows `tmux ` in `tmux -V`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches("tmux ").trim_start_matches("next-");
        let mut numbers = text.split('.');
        let major = numbers.next().and_then(|part| part.parse().ok());
        let minor = numbers.next().and_then(|part| {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            part[..digits].parse().ok()
        });
        match (major, minor) {
            (Some(major), Some(minor)) => Self { major, minor },
            _ => Self { major: u32::MAX, minor: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_and_the_unknown_is_the_newest() {
        for (text, version) in [
            ("3.3a", Version::new(3, 3)),
            ("tmux 3.2", Version::new(3, 2)),
            ("next-3.9", Version::new(3, 9)),
            ("3.6-rc2", Version::new(3, 6)),
            ("3.10b", Version::new(3, 10)),
        ] {
            assert_eq!(Version::parse(text), version, "{text}");
        }
        assert!(Version::parse("3.1c") < Version::OLDEST);
        assert!(Version::parse("2.9") < Version::OLDEST);
        for newest in ["master", "", "openbsd-7.8", "x.y"] {
            assert!(Version::parse(newest) > Version::new(99, 0), "{newest}");
        }
    }
}
