//! Which shell a target means.

use super::Shell;

/// Why a target means no single shell.
#[derive(Debug, PartialEq)]
pub enum NoTarget<'a> {
    /// Nothing has that name; with the name that it may be a slip of.
    Unknown(Option<&'a str>),
    /// These all have it.
    Several(Vec<&'a Shell>),
}

/// The shell that a target names, exactly: by its id, its session name, its display name, or the session name that it was made
/// with. What a shell is called now comes before what one was made as.
///
/// # Errors
/// None or several.
pub fn find_shell<'a>(shells: impl Iterator<Item = &'a Shell> + Clone, target: &str) -> Result<&'a Shell, NoTarget<'a>> {
    if let Some(shell) = shells.clone().find(|shell| shell.id == target) {
        return Ok(shell);
    }
    let named_now = |shell: &Shell| shell.session == target || shell.seen_as.as_deref() == Some(target) || shell.name == target;
    let made_as = |shell: &Shell| shell.made_as == target;
    for fits in [&named_now as &dyn Fn(&Shell) -> bool, &made_as] {
        let found: Vec<&Shell> = shells.clone().filter(|shell| fits(shell)).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(only),
            _ => return Err(NoTarget::Several(found)),
        }
    }
    let names = shells.flat_map(|shell| [shell.name.as_str(), shell.session.as_str()]);
    Err(NoTarget::Unknown(names.filter(|name| is_near(name, target)).min()))
}

/// Close enough to be a slip of the hand: one character more, fewer or other, or two swapped.
fn is_near(name: &str, target: &str) -> bool {
    let (name, target): (Vec<char>, Vec<char>) = (name.chars().collect(), target.chars().collect());
    if name.len().abs_diff(target.len()) > 1 || name.len().min(target.len()) < 2 {
        return false;
    }
    let head = name.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let tail = name.iter().rev().zip(target.iter().rev()).take_while(|(a, b)| a == b).count();
    let different = name.len().max(target.len()).saturating_sub(head + tail);
    let swapped = different == 2 && name.len() == target.len() && name[head] == target[head + 1] && name[head + 1] == target[head];
    different <= 1 || swapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(id: &str, session: &str, made_as: &str) -> Shell {
        Shell { id: id.into(), session: session.into(), name: session.into(), made_as: made_as.into(), ..Shell::default() }
    }

    #[test]
    fn targets_are_exact_and_the_present_name_comes_first() {
        let shells =
            [shell("sh-0001", "p-1", "p-1"), shell("sh-0002", "p-10", "old"), shell("sh-0003", "old", "x"), shell("sh-0004", "y", "x")];
        for (target, id) in [("p-1", "sh-0001"), ("sh-0002", "sh-0002"), ("old", "sh-0003")] {
            assert_eq!(find_shell(shells.iter(), target).map(|shell| shell.id.as_str()), Ok(id), "{target}");
        }
        assert_eq!(find_shell(shells.iter(), "x"), Err(NoTarget::Several(vec![&shells[2], &shells[3]])));
        assert_eq!(find_shell(shells.iter(), "p-11"), Err(NoTarget::Unknown(Some("p-1"))));
        assert_eq!(find_shell(shells.iter(), "p"), Err(NoTarget::Unknown(None)));
    }

    #[test]
    fn slips_of_the_hand_are_near() {
        for near in ["reviwer", "reviewre", "reviewwr", "reviewers", "eviewer"] {
            assert!(is_near("reviewer", near), "{near}");
        }
        for far in ["web", "", "reviews-2", "rieverew"] {
            assert!(!is_near("reviewer", far), "{far}");
        }
    }
}
