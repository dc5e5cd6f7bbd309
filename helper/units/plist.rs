//! A launchd agent as text. Pure.

use super::UnitFile;
use super::quote::xml;
use super::stamp::stamped;

/// The agent of this label. `rest` are its other keys, a line each.
pub(super) fn agent(label: &str, words: &[String], variables: &[(String, String)], rest: &str) -> UnitFile {
    let string = |text: &str| format!("<string>{}</string>", xml(text));
    let words: String = words.iter().map(|word| format!("    {}\n", string(word))).collect();
    let variables: String = variables.iter().map(|(name, value)| format!("    <key>{}</key>{}\n", xml(name), string(value))).collect();
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>{}\n  <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n  \
         <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n  <key>RunAtLoad</key><true/>\n{rest}</dict>\n</plist>\n",
        string(label)
    );
    // The declaration must come first.
    UnitFile { name: format!("{label}.plist"), text: stamped(&text, 1, ("<!-- ", " -->")), wanted_by: None }
}
