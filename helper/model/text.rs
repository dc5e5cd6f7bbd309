//! Bytes that strangers chose: paths and program words, which need not be UTF-8.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path or a word, byte for byte. In JSON it is a string where it is UTF-8, else `{"hex":"66ff"}`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RawText(Vec<u8>);

impl RawText {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same bytes, for the system.
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The same bytes as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(self.as_os_str())
    }

    /// For people and for `--json`: bytes that are not UTF-8 become the replacement character.
    pub fn display(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for RawText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.display())
    }
}

impl From<Vec<u8>> for RawText {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for RawText {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for RawText {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&Path> for RawText {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<PathBuf> for RawText {
    fn from(path: PathBuf) -> Self {
        Self::from(path.as_path())
    }
}

impl Serialize for RawText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Hex { hex: self.0.iter().map(|byte| format!("{byte:02x}")).collect() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Either::deserialize(deserializer)? {
            Either::Text(text) => Ok(Self(text.into_bytes())),
            Either::Hex(Hex { hex }) => {
                decode_hex(&hex).map(Self).ok_or_else(|| D::Error::custom("\"hex\" is not pairs of hexadecimal digits"))
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Hex {
    hex: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    Hex(Hex),
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || text.len() % 2 != 0 {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn utf8_is_a_plain_string_and_other_bytes_are_hex() {
        assert_eq!(serde_json::to_string(&RawText::from("/tmp/é")).unwrap(), r#""/tmp/é""#);
        assert_eq!(serde_json::to_string(&RawText::from(&b"f\xff"[..])).unwrap(), r#"{"hex":"66ff"}"#);
        assert!(serde_json::from_str::<RawText>(r#"{"hex":"6"}"#).is_err());
        assert!(serde_json::from_str::<RawText>(r#"{"hex":"zz"}"#).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_survive_a_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let text = RawText::from(bytes);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<RawText>(&json).unwrap(), text);
        }
    }
}
